"""The HTML report: the right numbers, nothing loaded or run, texts from data harmless."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from written import read_report

from core.base.errors import InputError
from core.base.text import p_digits
from core.datasets.embeddings import RowImage
from core.exchange import report
from core.exchange.report import (
    ReportSection,
    _chosen_groups,
    evaluate_all,
    report_html,
    write_report,
)
from core.exchange.seeds import SeedResult
from core.figures import TTMData, bars_data, margins_data
from core.figures.svg import bars_svg, margins_svg
from core.groups import Group, GroupSet
from core.metrics.evaluation import Evaluation, tags_frame
from core.metrics.statistics import Clusters
from core.ttm.records import _seed_change

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>&\"'"


def section(groups: GroupSet, benchmark: str = "mine/toy", seed: int = 3, model: str = "me") -> ReportSection:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(groups), 2, 2)).astype(np.float32)
    tags = tags_frame([g.tags for g in groups])
    return ReportSection(
        model, groups, Evaluation.of(scores, groups.truth, groups.ids, tags=tags), benchmark, "test"
    )


class Page(HTMLParser):
    """What a page would load or run, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("src", "data", "poster", "srcset", "action") or (name == "href" and tag != "a"):
                self.loads.append(value)
            if name.startswith("on"):
                self.handlers.append(name)
            if name == "style" and "url(" in (value or ""):
                self.loads += re.findall(r"url\(([^)]*)\)", value)
        if tag == "script":
            self.scripts.append(dict(attrs).get("type", "code"))
        if tag not in ("meta", "img", "br", "link", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open):
            self.words.append(data)


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page


def test_a_report_opens_without_network_and_runs_nothing(toy_groups):
    text = report_html([section(toy_groups)])
    page = parsed(text)
    assert page.loads
    assert all(address.strip("'\"").startswith("data:image/") for address in page.loads)
    assert page.scripts == ["application/json"]
    assert not page.handlers
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert not page.open  # every element that was opened was closed


def test_the_numbers_on_the_page_and_in_its_data_are_the_evaluations(tmp_path, toy_groups):
    one, two = section(toy_groups), section(toy_groups, seed=4, model="you")
    path = write_report([one, two], tmp_path / "out/r.html")
    back = read_report(path)
    for given, found in zip((one, two), back, strict=True):
        assert found["metrics"] == given.evaluation.record()["metrics"]
        assert (found["model"], found["benchmark"], found["n_groups"]) == (given.model, "mine/toy", 6)
    words = " ".join(parsed(path.read_text()).words)
    for e in one.evaluation.metrics.values():
        assert f"[{e.low:.2f}, {e.high:.2f}]" in words
        assert f"{e.chance:.2f}" in words


def test_models_on_the_same_groups_have_their_paired_differences_on_the_page_and_in_its_data(toy_groups):
    one, two = section(toy_groups), section(toy_groups, seed=4, model="you")
    elsewhere = section(toy_groups, "mine/other", seed=5, model="you")
    text = report_html([one, two, elsewhere])
    data = re.search(r'id="crossmatch">(.*?)</script>', text, re.DOTALL)[1]
    (pair,) = json.loads(data)["differences"]
    assert (pair["first"], pair["second"], pair["benchmark"]) == ("me", "you", "mine/toy")
    words = " ".join(parsed(text).words)
    for name, found in pair["metrics"].items():
        first, second = (s.evaluation.outcomes[name].value.astype(float) for s in (one, two))
        assert found["difference"] == pytest.approx(100 * (second - first).mean())
        assert (found["fixed"], found["broken"]) == ((second > first).sum(), (second < first).sum())
        assert f"[{found['low']:+.2f}, {found['high']:+.2f}]".replace("-", "−") in words
        assert found["p_value"] <= found["p_holm"] <= 1
    assert f"corrected for all {len(pair['metrics'])} comparisons" in words
    assert "Differences" not in report_html([one, elsewhere])


def test_on_groups_of_one_image_four_metrics_are_one_test():
    groups = GroupSet(
        "mine/one", tuple(Group(str(i), (RowImage(str(i)),), ("a", "b"), (0,)) for i in range(40))
    )
    right, wrong = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    sections = [
        ReportSection(name, groups, Evaluation.of(scores, groups.truth, groups.ids), "mine/one", "test")
        for name, scores in (
            ("me", np.array([wrong] * 6 + [right] * 34)),
            ("you", np.array([right] * 40)),
        )
    ]
    text = report_html(sections)
    data = re.search(r'id="crossmatch">(.*?)</script>', text, re.DOTALL)[1]
    (pair,) = json.loads(data)["differences"]
    # 6 groups with the second alone: p = 2 / 2^6, which is one test and not four
    assert {(m["p_value"], m["p_holm"]) for m in pair["metrics"].values()} == {(2 / 2**6, 2 / 2**6)}
    assert "corrected for" not in text and "TextScore, GroupScore, GroupMatch" in text


def test_texts_from_data_are_shown_and_never_become_markup(toy_groups):
    groups = tuple(
        replace(
            g, id=f"{i}{EVIL}", captions=(f"{i} {EVIL}", f"other {i} {EVIL}"), tags={EVIL: f"{EVIL}{i % 2}"}
        )
        for i, g in enumerate(toy_groups)
    )
    evil = GroupSet(
        "mine/toy", groups, title=EVIL, description=EVIL, source=EVIL, licence=EVIL, citation=EVIL
    )
    text = report_html([section(evil, model=EVIL)])
    page = parsed(text)
    assert not page.handlers
    assert page.scripts == ["application/json"]
    assert "alert(2)" in "".join(page.words)
    assert all(address.strip("'\"").startswith("data:image/") for address in page.loads)
    data = re.search(r'id="crossmatch">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data)["sections"][0]["model"] == EVIL


def test_images_of_others_stay_out_unless_they_are_asked_for(toy_groups):
    mine, others = section(toy_groups), section(toy_groups, "winoground")
    assert "data:image/webp" in report_html([mine])
    assert "data:image/webp" not in report_html([others])
    assert "their licence may forbid it" in report_html([others])
    assert "data:image/webp" in report_html([others], pictures=True)
    assert "data:image/webp" not in report_html([mine], pictures=False)


def test_words_that_a_built_in_model_does_not_know_are_said_before_its_numbers(toy_groups):
    strange = replace(toy_groups[0], captions=("a giraffe", "two <b>giraffes"))
    groups = GroupSet("mine/toy", (strange, *toy_groups[1:]))
    text = report_html([section(groups, model="builtin/clip")])
    said = re.search(
        r"<p><b>(builtin/clip was trained on .* of the words in these captions.*?)</b></p>", text
    )
    assert "giraffe" in said[1] and said.end() < text.index("<h3>Margins")
    assert "of the words in these captions" not in report_html([section(groups)])


def test_a_file_without_pictures_says_so_and_names_no_licence(toy_groups):
    bare = tuple(replace(g, images=(RowImage("dog.jpg"), RowImage("cat.jpg"))) for g in toy_groups)
    groups = GroupSet("a.csv", bare, description="The file has captions and no pictures.")
    text = report_html([section(groups, "a.csv")])
    assert "The file has captions and no pictures." in text and "dog.jpg" in text
    assert "their licence may forbid it" not in text


def test_the_papers_numbers_stand_beside_a_benchmark_they_report(toy_groups):
    text = report_html([section(toy_groups, "winoground")], examples=0)
    words = " ".join(parsed(text).words)
    assert "Published results" in words
    assert "SigLIP-B16" in words and "10.25" in words  # [TTM] Table 1
    assert "Published results" not in report_html([section(toy_groups)])


def test_groups_worth_a_look_are_distinct_and_of_the_kind_they_claim(toy_groups):
    found = section(toy_groups).evaluation
    picked = _chosen_groups(found, 6)
    assert len({index for _, index in picked}) == len(picked) <= 6
    strict, matched = (found.outcomes[n].value for n in ("group_score", "group_match"))
    for why, index in picked:
        if why == "GroupMatch right, GroupScore wrong":
            assert matched[index] == 1 and strict[index] == 0
        if why == "right under both":
            assert strict[index] == 1
        if why == "matched wrong by a wide margin":
            assert matched[index] == 0
    assert _chosen_groups(found, 0) == []


def test_ties_are_counted_on_the_page(toy_groups):
    scores = np.zeros((6, 2, 2), np.float32)
    flat = ReportSection(
        "me", toy_groups, Evaluation.of(scores, toy_groups.truth, toy_groups.ids), "mine/toy", "test"
    )
    words = " ".join(" ".join(parsed(report_html([flat])).words).split())
    assert "6 groups are tied" in words
    assert "chance 50.0, 6 tied" in words


def test_charts_are_drawn_to_scale():
    scores = np.array([[[2.0, 1.0], [0.0, 2.0]], [[2.0, 2.1], [1.0, 1.9]]])
    found = Evaluation.of(scores, None)
    svg = bars_svg(bars_data({"all": found.metrics}, ["group_score", "group_match"]))
    widths = [
        float(w) for w in re.findall(r'height="16"', svg) and re.findall(r'width="([\d.]+)" height="16"', svg)
    ]
    assert widths[1] == pytest.approx(2 * widths[0])  # 50 % and 100 %
    margins = margins_svg(margins_data(found.matches, found.outcomes["group_match"]))
    assert "2 groups matched right and 0 matched wrong; 0 tied" in margins and ">groups</text>" in margins


@pytest.mark.parametrize("scale", [0.403, 1234.0])
def test_the_numbers_below_margins_stand_within_the_figure(scale):
    """The last was cut at the right edge; a digit of this size is 8.3 pixels wide at most."""
    found = Evaluation.of(np.array([[[scale, 0.0], [0.0, 0.0]]]), None)
    margins = margins_svg(margins_data(found.matches, found.outcomes["group_match"]))
    texts = re.findall(r'<text x="([\d.]+)" y="186.0" text-anchor="middle">([^<]*)<', margins)
    assert len(texts) == 3 and f"{scale:.3g}" in dict(map(reversed, texts))
    assert all(4 * len(text) < float(x) < 720 - 4.15 * len(text) for x, text in texts)


def test_models_and_benchmarks_are_evaluated_once_each(toy_groups, toy_groups_mixed, monkeypatch):
    class Scorer:
        name = key = "s"

        def score(self, images, captions, pairs):
            return np.arange(len(pairs), dtype=np.float32)

    monkeypatch.setattr("core.exchange.report.lazy_scorer", lambda name, device="auto": Scorer())
    monkeypatch.setattr(report.datasets, "load", lambda name, split: toy_groups_mixed)
    told: list = []
    sections = evaluate_all(["a", "a"], ["x"], progress=lambda what, share: told.append((what, share)))
    assert [(s.model, s.evaluation.shape) for s in sections] == [("a", (1, 4)), ("a", (2, 2))]
    assert ("a on x", 1.0) in told
    with pytest.raises(InputError, match="at least one model and one benchmark"):
        evaluate_all([], ["x"])


def test_a_small_p_has_a_raised_exponent_and_stays_on_one_line():
    from core.exchange.layouts import _raised, _with_raised_powers

    assert report._p_cell(5e-10) == '<td class="num">5×10<sup>−10</sup></td>'
    assert (
        _with_raised_powers("p 1.3e-05, corrected 2e-12.")
        == "p 1.3×10<sup>−5</sup>, corrected 2×10<sup>−12</sup>."
    )
    assert _with_raised_powers("p 0.03, in e-5 and 3 e-05") == "p 0.03, in e-5 and 3 e-05"
    assert _with_raised_powers("lr-1e-05 and 3fa1e-12.csv") == "lr-1e-05 and 3fa1e-12.csv"  # names
    assert report._p_cell(0.032) == '<td class="num">0.032</td>'
    assert (_raised(5e-10), _raised(None)) == (r"$5 \times 10^{-10}$", "--")


def test_a_model_before_and_after_is_named_once(toy_groups):
    before, after = (section(toy_groups, "", seed=seed, model=f"a.npz · embeddings, {when}")
                     for seed, when in ((3, "before"), (4, "after 10 iterations")))  # fmt: skip
    text = report_html([before, after])
    words = " ".join(parsed(text).words)
    assert "a.npz · embeddings: before compared with after 10 iterations" in words
    assert "after 10 iterations − before" in words
    one, two = (section(toy_groups, "", seed=seed, model=name) for seed, name in ((3, "a.csv"), (4, "b.csv")))
    assert "a.csv compared with b.csv, 6 groups" in " ".join(parsed(report_html([one, two])).words)


def test_a_difference_is_exact_rounded_once_and_has_the_digits_of_the_values(toy_groups):
    """34.75 to 34.25 is -0.50; rounded to one decimal first it was -0.6."""
    one, two = section(toy_groups), section(toy_groups, seed=4, model="you")
    words = " ".join(parsed(report_html([one, two])).words)
    for name in ("group_score", "group_match"):
        first, second = (each.evaluation.metrics[name].value for each in (one, two))
        assert (
            f"{second - first:+.2f}".replace("-", "−") in words
            and f"{first:.2f}" in words
            and f"{second:.2f}" in words
        )


def test_seeds_are_folded_each_with_a_pattern_of_its_own_and_the_lines_are_explained(toy_groups):
    """Wrong groups were not drawn in the margins of the second section on: their pattern was in a closed fold."""
    sections = [section(toy_groups, seed=seed, model=f"me, after, seed {seed}") for seed in (3, 4)]
    seeds = SeedResult.of_seeds(
        [sections[0].evaluation], [sections[1].evaluation], {"": np.ones(len(toy_groups), bool)}
    )
    text = report_html(
        sections, seeds=seeds, title="me on toy, TTM, seeds 3, 4", note="1 of 2 seeds <finished>."
    )
    assert "<h1>me on toy, TTM, seeds 3, 4</h1>" in text and "<b>1 of 2 seeds &lt;finished&gt;.</b>" in text
    assert '"note": "1 of 2 seeds \\u003cfinished>."' in text
    for i in (0, 1):
        assert f'</summary><div id="s{i}">' in text and f'href="#s{i}"' in text
        assert text.count(f'id="cm-hatch-{i}"') == 1
    words = " ".join(parsed(text).words)
    for line in ("blue and solid", "orange and dashed", "grey and dotted", "thin whiskers, dashed mark"):
        assert line in " ".join(words.split())
    assert "<section><details>" not in report_html(sections)


def test_every_cell_of_a_table_knows_the_head_of_its_column(toy_groups):
    """A narrow screen, which has no room for columns, shows it beside the cell."""
    text = report_html([section(toy_groups), section(toy_groups, seed=4, model='you "and" <me>')])
    first = re.search(r'<div class="wide"><table>.*?</table>', text, re.DOTALL)[0]
    rows = re.findall(r"<tr>.*?</tr>", first, re.DOTALL)[1:]
    heads = [re.findall(r'data-head="([^"]*)"', row) for row in rows]
    assert heads == [["Model", "Benchmark", "Groups", "GroupScore", "GroupMatch"]] * 2
    assert 'data-head="Points [95 %]"' in text and 'data-head="you' not in text


def test_mean_counts_of_seeds_have_the_same_digits():
    """Of four seeds 0.75 and 5.25 were rounded to 0.8 and 5.2."""
    before = np.zeros((4, 12))
    before[:, :6] = 1  # six right, six wrong
    after = before.copy()
    after[:, :5], after[0, 5] = 0, 0  # broken: 5 by each, one more by the first
    after[:3, 6] = 1  # fixed by three of four
    change = _seed_change(before, after)
    assert change._mean_counts == ("0.75", "5.25")
    assert change._replace(fixed=[2, 2], broken=[3, 3])._mean_counts == ("2", "3")


def run_of(values, **more):
    """The curve of GroupScore and GroupMatch in these iterations: value, low, high, chance."""
    nothing = np.full(len(values), np.nan)
    metrics = {
        "group_score": np.array([[v, v - 10, v + 10, 100 / 6] for v in values], dtype=float),
        "group_match": np.array([[v + 5, v - 5, v + 15, 50] for v in values], dtype=float),
    }
    return TTMData(np.arange(len(values)), metrics, *(nothing,) * 4, len(values) - 1, nothing, **more)


def test_the_curve_of_what_was_adapted_stands_at_the_top_with_bands_chance_and_last_values(toy_groups):
    text = report_html([section(toy_groups)], curves={"": run_of([25, 50, 75])})
    assert text.index("Accuracy by iteration") < text.index("<table>")
    (figure,) = re.findall(r'<svg[^>]*aria-label="Accuracy by iteration.*?</svg>', text, re.DOTALL)
    assert "GroupScore from 25.0 to 75.0 percent, chance 16.7" in figure
    assert "GroupMatch from 30.0 to 80.0 percent, chance 50.0" in figure
    # 0 % lies at 260, 100 % at 10; iterations from 52 to 550.
    assert 'd="M52.0 197.5L301.0 135.0L550.0 72.5"' in figure
    assert "M52.0 222.5L301.0 160.0L550.0 97.5L550.0 47.5" in figure  # its band
    assert 'd="M52 135.0H550"' in figure  # GroupMatch's chance level
    assert ">GroupMatch 80.0</text>" in figure and ">GroupScore 75.0</text>" in figure
    assert "Bands: 95 % intervals." in text and "Accuracy by iteration" not in report_html(
        [section(toy_groups)]
    )


def test_the_curves_of_parts_and_of_seeds_say_what_they_are(toy_groups):
    part = {"adapted": run_of([25, 50]), "untouched": run_of([25, 20])}
    text = report_html([section(toy_groups)], curves=part)
    assert "<h3>Accuracy by iteration, adapted groups</h3>" in text and "untouched groups</h3>" in text
    seeds = report_html([section(toy_groups)], curves={"": run_of([25, 50], seeds=np.array([2, 2]))})
    assert "Bands: one standard deviation to either side of the mean over seeds." in seeds


def test_a_report_begins_with_what_its_tests_say(toy_groups):
    """Whoever got the file had to draw the conclusion from its tables."""
    groups = GroupSet("mine/many", tuple(replace(toy_groups[0], id=str(i)) for i in range(12)))

    def model(name, right):
        scores = np.array([np.eye(2) if i < right else 1 - np.eye(2) for i in range(12)], np.float32)
        return ReportSection(
            name, groups, Evaluation.of(scores, np.tile([0, 1], (12, 1)), groups.ids), "mine/many", "test"
        )

    page = report_html([model("one", 12), model("other", 0)])
    first = page[page.index("</h1>") :].partition("<table>")[0]
    assert "GroupMatch: other is behind one, 0.00 % against 100.00 % (−100.00 points" in first
    # A corrected p stood there beside an interval of the metric alone, as if they contradicted each other.
    alone = re.sub(r"e-0*(\d+)$", r"×10<sup>−\1</sup>", p_digits(2 * 0.5**12))
    assert f" after Holm, {alone} alone)" in first
    told = json.loads(re.search(r'id="crossmatch">(.*?)</script>', page)[1])["conclusions"]
    # “p 3.2e-07” stood above a table with 3.2×10⁻⁷.
    assert len(told) == 2 and re.sub(r"(\d)e-0*(\d+)", r"\1×10<sup>−\2</sup>", told[1]) in first
    assert not re.search(r"\de-\d", first)
    close = report_html([model("one", 6), model("other", 7)])
    assert "GroupMatch: these groups cannot tell one and other apart, 50.00 % and 58.33 %" in close
    # Right on 6 of 12 groups more: p 2 / 2 ** 6 = 0.031 alone, five times that after Holm over five metrics.
    open_yet = report_html([model("one", 6), model("other", 12)])
    assert (
        "GroupMatch: other is ahead of one on these groups, not proven after correction for 5 comparisons of this "
        "page (p 0.16), 100.00 % against 50.00 % (+50.00 points, 95 % interval, uncorrected: +" in open_yet
    )
    assert ", p 0.031 alone)." in open_yet and "not proven" not in first + close
    assert "Corrected for" not in first + close  # where the main metrics say it, or none does
    assert "conclusions" not in json.loads(
        re.search(r'id="crossmatch">(.*?)</script>', report_html([model("one", 6)]))[1]
    )
    curves = {"": TTMData.unmeasured(2, 2, 3)}
    run = report_html([model("clip, before", 2), model("clip, after", 12)], curves=curves)
    assert "GroupMatch rises by more than chance explains: +83.3 points (95 % interval" in run


def test_the_table_beside_a_chart_has_the_interval_that_the_chart_draws(toy_groups):
    """The chart draws the interval to quote, by caption where groups share one; the table had the other one alone."""
    clusters = Clusters("caption", np.repeat([0, 1], 3))
    scores = np.random.default_rng(0).normal(size=(6, 2, 2))
    found = Evaluation.of(scores, toy_groups.truth, toy_groups.ids, clusters=clusters)
    c = found.metrics["group_match"].clustered
    words = " ".join(parsed(report_html([ReportSection("me", toy_groups, found, "mine/toy", "test")])).words)
    assert f"by caption [{c.low:.2f}, {c.high:.2f}]" in " ".join(words.split()) and "charts draw it" in words


def test_a_report_names_the_metrics_that_tell_two_apart_where_the_main_ones_do_not(toy_groups):
    """Its top said “not proven” twice, and what is proven stood in a table below alone. By hand: every matching of both
    is right; TextScore is right in 12 of 24 groups of the first and in all of the second, ImageScore in the others; of
    IndividualMatch each of the others has one image wrong."""
    groups = GroupSet("mine/many", tuple(replace(toy_groups[0], id=str(i)) for i in range(24)))

    def model(name, right_texts):
        scores = np.zeros((24, 2, 2))
        scores[:right_texts] = [
            [2.0, 1.0],
            [0.0, 0.5],
        ]  # each image's own caption leads; caption 2 prefers image 1
        scores[right_texts:] = [[0.5, 1.0], [0.0, 2.0]]  # and the other way round
        found = Evaluation.of(scores, np.tile([0, 1], (24, 1)), groups.ids)
        return ReportSection(name, groups, found, "mine/many", "test")

    page = report_html([model("one", 12), model("other", 24)])
    told = json.loads(re.search(r'id="crossmatch">(.*?)</script>', page)[1])["conclusions"]
    corrected = "Corrected for 5 comparisons of this page, "
    assert [each for each in told if each.startswith(corrected)] == [
        f"{corrected}other is ahead of one in TextScore, IndividualMatch.",
        f"{corrected}one is ahead of other in ImageScore.",
    ]
