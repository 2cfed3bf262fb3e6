"""The demo in a real browser, on a laptop and on a phone: what is in view, and that nothing is cut off or covered."""

import re

import pytest
import test_browser

import gradio_app

pytestmark = [pytest.mark.browser, pytest.mark.slow]

chromium = test_browser.chromium
LAPTOP, PHONE = {"width": 1366, "height": 768}, {"width": 390, "height": 844}
LONG = "\u221210.81 \u25cf\u2713"  # five characters and a sign, matched and a true pair


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The address of the demo as it is served."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GRADIO_TEMP_DIR", str(tmp_path_factory.mktemp("uploads")))
        page = gradio_app.queued(gradio_app.build())
        options = {**gradio_app.served(), **gradio_app.look()}
        _, address, _ = page.launch(**options, prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
        yield address
        page.close()


@pytest.fixture
def visit(chromium, demo):
    """Opens the demo in a window of a size and a theme, with its first example and its scores."""
    contexts = []

    def opened(window, theme="light"):
        contexts.append(chromium.new_context(viewport=window, reduced_motion="reduce"))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)
        page.goto(f"{demo}?__theme={theme}")
        page.locator("#images img").nth(1).wait_for()
        page.locator("#found .cm-scroll").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()


def box(page, selector, which=0):
    """Left, top, right and bottom of an element, in pixels of the window."""
    found = page.locator(selector).nth(which).bounding_box()
    return found["x"], found["y"], found["x"] + found["width"], found["y"] + found["height"]


def cut(page):
    """By how many pixels the score matrix is wider than its place, and how far it stands over the window's edge."""
    return page.locator("#found .cm-scroll").evaluate(
        "e => [e.scrollWidth - e.clientWidth, Math.max(0, e.getBoundingClientRect().right - innerWidth)]"
    )


@pytest.mark.parametrize("key", ["Backspace", "Control+v", "x", "written by a phone"])
def test_a_result_goes_as_soon_as_a_caption_is_changed_in_whichever_way(visit, key):
    """A paste, a deletion and a phone's suggestion left the old scores beside the new caption."""
    page = visit(LAPTOP)
    caption = page.get_by_label("Caption 1").first
    caption.press("Control+a")
    caption.press("Control+c")
    caption.press("End")
    if key.startswith("written"):
        page.keyboard.insert_text(key)
    else:
        caption.press(key)
    page.locator("#found", has_text="Changed. Press Score").wait_for(timeout=10_000)
    page.locator("#examples tbody tr").nth(1).click()  # and an example's scores stay
    page.locator("#found .cm-text", has_text="blue sphere").first.wait_for()
    page.wait_for_timeout(700)
    assert page.locator("#found .cm-scroll").is_visible() and not page.locator("#changed").is_visible()


def test_on_a_phone_a_file_that_is_no_picture_is_said_where_it_is_seen(visit):
    """A screen above what was said of it there was a broken icon alone."""
    page = visit(PHONE)
    page.locator("#images").get_by_role(
        "button", name=re.compile("clear|remove", re.IGNORECASE)
    ).first.click()
    bad = {"name": "bad.png", "mimeType": "image/png", "buffer": b"no picture"}
    page.locator("#images input[type=file]").first.set_input_files(bad)
    page.locator("#found [role=alert]", has_text="The image A does not open").wait_for()
    page.wait_for_function(
        "() => { const at = document.querySelector('#found [role=alert]').getBoundingClientRect();"
        " return at.top > 0 && at.bottom < innerHeight; }"
    )


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_image_a_with_caption_1_is_the_upper_one_of_every_example(visit, window):
    """On a phone image B with caption 2 stood above it."""
    page = visit(window)
    for row in page.locator("#examples tbody tr").all():
        first, second, one, two = (cell.bounding_box()["y"] for cell in row.locator("td").all())
        assert max(first, one) < min(second, two)


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_score_matrix_is_whole_without_a_scrollbar_in_every_example_and_with_long_scores(
    visit, window, theme
):
    page = visit(window, theme)
    examples = page.locator("#examples tbody tr")
    for i in (
        1,
        2,
        3,
        0,
    ):  # the first is shown already: a click on it changes nothing that could be waited for
        caption = examples.nth(i).locator("td").nth(2).inner_text().strip()
        examples.nth(i).click()
        page.locator("#found .cm-text", has_text=caption).first.wait_for()
        assert cut(page) == [0, 0], caption
    page.locator("#found .cm-scroll tbody td").evaluate_all(
        "(cells, said) => cells.forEach(cell => { cell.textContent = said })", LONG
    )
    assert cut(page) == [0, 0]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_button_is_on_a_laptop_s_first_screen_and_both_captions_above_it_on_a_phone(visit):
    assert box(visit(LAPTOP), "#score")[3] <= LAPTOP["height"]
    page = visit(PHONE)
    bar = box(page, "#score")
    assert bar[3] <= PHONE["height"]
    assert box(page, "#all textarea", 1)[3] <= bar[1]


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_ways_to_bring_a_picture_cover_none_of_it(visit, window):
    page = visit(window)
    for i in range(2):
        shown, ways = box(page, "#images img", i), box(page, "#images .source-selection", i)
        assert shown[3] <= ways[1] and shown[3] - shown[1] > 100
        assert ways[3] <= box(page, "#images > .block", i)[3]


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_an_empty_field_says_what_to_do_above_the_ways_to_bring_a_picture(visit, window):
    """The line above them and their signs lay over “Click to Upload”."""
    page = visit(window)
    clear = "#images button:is([aria-label=Clear], [title=Clear], [aria-label='Remove Image'])"
    page.locator(clear).last.click()
    said = page.locator("#images [data-testid=upload-text]")
    said.wait_for()
    inside = said.evaluate(
        """text => {
          const range = document.createRange();
          range.selectNodeContents(text);
          const image = text.closest('[data-testid=image]').getBoundingClientRect();
          const ways = text.closest('[data-testid=image]').querySelector('.source-selection').getBoundingClientRect();
          const [at] = [range.getBoundingClientRect()];
          return [at.top - image.top, ways.top - at.bottom];
        }"""
    )
    assert min(inside) >= 0, inside


def test_on_a_phone_what_a_finger_presses_is_forty_pixels_high_and_wide(visit):
    """Upload, camera and paste were 22 pixels high and wide, Remove and Fullscreen 18, “As JSON” 20 high."""
    found = visit(PHONE).locator("#images button:is(.icon, .icon-button), button.label-wrap")
    sides = found.evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(at => Math.min(at.width, at.height))"
    )
    assert len(sides) == 2 * (3 + 2) + 2 and min(sides) >= 40


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_each_example_says_what_it_is_above_its_pictures(visit, window):
    """On a phone they were left out."""
    titles = (
        visit(window)
        .locator("#examples tbody tr")
        .evaluate_all(
            "rows => rows.map(row => getComputedStyle(row, '::before'))"
            ".map(title => title.display === 'none' ? '' : JSON.parse(title.content))"
        )
    )
    assert titles == list(gradio_app.KINDS)


def test_what_stands_at_the_end_of_the_page_is_one_press_away(visit):
    """“How to cite: at the end of the page” looked like a link, and was none."""
    page = visit(PHONE)
    page.get_by_role("link", name="how to cite").click()
    page.wait_for_function("scrollY > 0")
    page.wait_for_function(
        "id => { const at = document.getElementById(id).getBoundingClientRect(); return at.top < innerHeight; }",
        arg=gradio_app.END,
    )


def test_every_example_has_both_verdicts_on_the_first_screen_of_a_laptop(visit):
    """GroupMatch, which the page is about, stood below it."""
    page = visit(LAPTOP)
    for i in range(len(gradio_app.EXAMPLES)):
        page.locator("#examples tbody tr").nth(i).click()
        caption = page.locator("#examples tbody tr").nth(i).locator("td").nth(2).inner_text()
        page.locator("#found .cm-text", has_text=caption.strip()).first.wait_for()
        row = page.locator("#found .cm-verdicts tr", has_text="GroupMatch").first
        row.wait_for()
        assert (
            page.evaluate("scrollY") == 0 and row.bounding_box()["y"] + row.bounding_box()["height"] <= 768
        ), i


def test_of_two_examples_in_quick_succession_the_last_one_is_scored(visit):
    """A press while the earlier one was at work was dropped, or its scores were: they stood beside other pictures."""
    page = visit(LAPTOP)
    rows = page.locator("#examples tbody tr")
    caption = rows.nth(2).locator("td").nth(2).inner_text()
    for i in (1, 3, 2):
        rows.nth(i).click()
    page.locator("#found .cm-text", has_text=caption.strip()).first.wait_for()
    assert page.get_by_label("Caption 1").input_value() == caption.strip()


def test_scores_that_are_still_to_come_stay_away_once_a_caption_is_changed(visit):
    """They came after the change, and stood beside a caption that they are not of."""
    page = visit(LAPTOP)
    page.locator("#score").click()
    page.get_by_label("Caption 1").press("x")
    page.locator("#found", has_text="Changed").wait_for()
    page.wait_for_timeout(3000)
    assert page.locator("#found", has_text="Changed").count() == 1


@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_two_models_stand_beside_each_other_on_a_laptop_and_below_each_other_on_a_phone(visit, window):
    page = visit(window)
    page.get_by_label("Second model").click()
    page.get_by_role("option").filter(has_text="builtin/blip-itm").first.click()
    page.locator("#found", has_text="Changed").wait_for()
    page.locator("#score").click()
    page.locator("#found .cm-scroll").nth(1).wait_for()
    first, second = (box(page, "#found section .cm-scroll", i) for i in range(2))
    if window is LAPTOP:
        assert first[1] == second[1] and first[2] <= second[0]
        rows = [
            page.locator(f"#found section:nth-child({i}) .cm-verdicts tr").evaluate_all(
                "rows => rows.map(row => Math.round(row.getBoundingClientRect().top))"
            )
            for i in (1, 2)
        ]
        assert (
            rows[0] == rows[1] and len(rows[0]) == 4
        )  # one model's GroupMatch stood beside the other's GroupScore
    else:
        assert first[0] == second[0] and first[3] <= second[1]
    widths = page.locator("#found .cm-scroll").evaluate_all(
        "all => all.map(e => e.scrollWidth - e.clientWidth)"
    )
    assert widths == [0, 0] and page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_highest_score_is_the_darkest_in_the_light_and_the_brightest_in_the_dark_and_no_field_touches_its_panel(
    visit,
):
    """The matrix went by the browser's scheme, not by the theme of the page: a high score was dark on a dark page."""
    for theme in ("light", "dark"):
        page = visit(LAPTOP, theme)
        shades = page.locator("#found .cm-scroll").first.evaluate(
            "e => [...e.querySelectorAll('td[title]')].map(cell => [parseFloat(cell.innerText), "
            "getComputedStyle(cell).backgroundColor.match(/\\d+/g).reduce((sum, each) => sum + +each, 0)])"
        )
        highest = max(shades)[1]
        assert highest == (min if theme == "light" else max)(shade for _, shade in shades)
    panel, field = box(page, ".form"), page.locator(".form .block").last.locator(".wrap").last.bounding_box()
    assert panel[3] - (field["y"] + field["height"]) >= 6


@pytest.mark.parametrize(("theme", "said"), [("light", "darker"), ("dark", "brighter")])
def test_the_matrix_says_which_end_of_its_shades_is_high(visit, theme, said):
    page = visit(LAPTOP, theme)
    assert f"Scores: the {said}, the higher." in page.locator("#found .cm-scores p").first.inner_text()


@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_a_screen_reader_is_told_in_words_that_the_scores_are_there(chromium, demo, language):
    """It read “common.complete”, the name of a sentence that Gradio has in no language."""
    context = chromium.new_context(viewport=LAPTOP, locale=language)
    context.add_init_script(
        "window.heard = []; addEventListener('DOMContentLoaded', () => new MutationObserver(all => all.forEach(one => {"
        "const live = one.target.parentElement?.closest('[aria-live], [role=status]') ??"
        " one.target.closest?.('[aria-live], [role=status]'); if (live) window.heard.push(live.textContent.trim());"
        "})).observe(document.body, {subtree: true, childList: true, characterData: true}));"
    )
    page = context.new_page()
    page.goto(demo)
    page.locator("#found .cm-scroll").wait_for()
    page.locator("#score").click()
    page.wait_for_function("window.heard.some(text => text.includes('omplete'))", timeout=60_000)
    heard = page.evaluate("window.heard")
    context.close()
    assert not [text for text in heard if "common." in text] and any("Complete" in text for text in heard)
