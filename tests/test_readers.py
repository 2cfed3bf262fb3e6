"""Every reader on a small made-up sample in upstream's exact layout, whole and damaged."""

import json
from collections.abc import Iterator
from pathlib import Path

import PIL.Image
import pytest

from benchmarks.safety.samples import (
    IMAGES,
    IMAGES_IN_TABLES,
    SAMPLES,
    aro,
    bivlc,
    bla,
    cell,
    cifar10,
    coco,
    coco_counterfactuals,
    cola,
    colorfoil,
    colorswap,
    colorswap_parquet,
    crepe,
    crepe_rows,
    eqben,
    flickr30k,
    gqa,
    imagecode,
    imagenet,
    imagenet_one_shot,
    mmvp,
    naturalbench,
    negbench,
    spec,
    spec_text_to_image,
    sugarcrepe,
    sugarcrepe_pp,
    svo_probes,
    valse,
    vismin,
    vismin_parquet,
    visual_genome,
    vl_checklist,
    whatsup,
    winoground,
    winoground_parquet,
    write_csv,
    write_json,
    write_parquet,
)
from core import datasets
from core.base.errors import InputError
from core.datasets import _file_reading, base
from core.datasets.paper_results import CITATIONS, UNITS, load_results
from core.groups import Group


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(monkeypatch):
    monkeypatch.delenv("CROSSMATCH_DATA", raising=False)


def red(image) -> int:
    return image.open().getpixel((0, 0))[0]


def read(name: str, folder: Path, split: str = "test", images: bool = True):
    return datasets.benchmark_entry(name).load(split, folder, images, partial=True)


# --- 2x2 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [winoground, winoground_parquet])
def test_winoground_in_both_of_its_layouts(tmp_path, make):
    make(tmp_path)
    groups = read("winoground", tmp_path)
    assert groups.shape == (2, 2)
    assert groups[1].captions == ("1 dogs chase cats", "1 cats chase dogs")
    assert [g.truth for g in groups] == [(0, 1)] * 3
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11], [20, 21]]
    assert groups[0].tags["collapsed_tag"] == "Object"
    assert len({image.key for g in groups for image in g.images}) == 6


def test_winoground_carries_the_tags_of_diwan_under_the_names_of_the_paper(tmp_path):
    winoground(tmp_path)
    groups = read("winoground", tmp_path)
    assert [g.tags["NoTag"] for g in groups] == ["yes", "no", "no"]
    assert groups[1].tags["NonCompositional"] == groups[1].tags["UnusualText"] == "yes"
    assert groups[1].tags["VisuallyDifficult"] == "no"
    write_json(tmp_path / "new_tag_assignments.json", {"0": ["Made Up"], "1": [], "2": []})
    with pytest.raises(InputError, match=r"new_tag_assignments.json is not .* unknown tag 'MadeUp'"):
        read("winoground", tmp_path)


def test_mmvp_pairs_successive_rows_and_finds_images_by_type(tmp_path):
    mmvp(tmp_path)
    groups = read("mmvp-vlm", tmp_path)
    assert groups.ids == ["mmvp-1-2", "mmvp-3-4"]
    assert groups[1].captions == ("statement 2", "statement 3")
    assert groups[1].tags == {"type": "Camera Perspective"}
    assert [red(image) for image in groups[1].images] == [10, 11]


@pytest.mark.parametrize("make", [colorswap, colorswap_parquet])
def test_colorswap_in_both_of_its_layouts(tmp_path, make):
    make(tmp_path)
    groups = read("colorswap", tmp_path)
    assert groups.ids == ["colorswap-0", "colorswap-1"]
    assert groups[1].captions == ("test red cup 1 on a blue plate", "test blue cup 1 on a red plate")
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11]]
    assert groups[0].tags == {"image_source": "midjourney", "caption_source": "human"}


def test_colorswap_has_a_train_split(tmp_path):
    colorswap(tmp_path)
    assert read("colorswap", tmp_path, "train")[0].captions[0].startswith("train")


def test_whatsup_pairs_opposite_relations_of_the_same_objects(tmp_path):
    whatsup(tmp_path)
    groups = read("whatsup/a-on-under", tmp_path)
    assert [g.tags["objects"] for g in groups] == ["pillow, chair", "beer-bottle, armchair"]
    assert groups[1].captions == ("true of beer-bottle_on_armchair", "true of beer-bottle_under_armchair")
    assert [red(image) for image in groups[1].images] == [6, 7]  # places in A_NAMES
    front = read("whatsup/b-front-behind", tmp_path)
    assert front[0].captions == ("true of mug_in-front_of_bowl", "true of mug_behind_bowl")
    assert [red(image) for image in front[0].images] == [52, 53]


def test_whatsup_exchanges_the_two_mislabelled_images_and_no_other(tmp_path):
    """pillow_left_of_chair.jpeg shows the pillow right of the chair, and the other way round (issue 4)."""
    whatsup(tmp_path)
    pairs = read("whatsup/a-left-right", tmp_path)
    assert pairs[0].captions == ("true of pillow_left_of_chair", "true of pillow_right_of_chair")
    assert [red(image) for image in pairs[0].images] == [1, 0]
    assert [red(image) for image in pairs[1].images] == [4, 5]
    single = read("whatsup/a-1x4", tmp_path)
    assert [red(g.images[0]) for g in single] == [1, 0, 2, 3, 4, 5, 6, 7]
    assert single[0].captions[0] == "true of pillow_left_of_chair"


def test_cola_multi_object_finds_visual_genome_images_by_name(tmp_path):
    cola(tmp_path)
    groups = read("cola/multi-object", tmp_path)
    assert groups[1].captions == ("red cup 1", "blue cup 1")
    assert [red(image) for image in groups[1].images] == [10, 11]


def test_eqben_mini_reads_images_and_arrays_and_takes_the_first_of_several_captions(tmp_path):
    eqben(tmp_path)
    groups = read("eqben/mini", tmp_path)
    assert groups[0].captions == ("one", "two")
    assert [g.tags["source"] for g in groups] == ["stable-diffusion", "kubric", "youcook2"]
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11], [20, 21]]
    assert groups[2].images[0].open().getpixel((0, 0)) == (20, 100, 50)
    assert [red(image) for image in read("eqben/val", tmp_path)[1].images] == [10, 11]


def test_cifar10_asks_of_each_image_which_of_ten_classes_it_shows(tmp_path):
    cifar10(tmp_path)
    groups = read("cifar-10", tmp_path)
    assert groups.shape == (1, 10)
    assert groups.truth.tolist() == [[3], [8], [0]]
    assert [groups[i].captions[groups.truth[i, 0]] for i in range(2)] == [
        "a photo of a cat.",
        "a photo of a ship.",
    ]
    assert [group.tags["class"] for group in groups] == ["cat", "ship", "airplane"]
    assert len(read("cifar-10", tmp_path, "train")) == 1
    write_parquet(tmp_path / "plain_text/test-00000-of-00001.parquet", [{"img": cell(1), "label": 10}])
    with pytest.raises(InputError, match="label 10, not one of 0 to 9"):
        read("cifar-10", tmp_path)


def test_bivlc_pairs_the_photograph_with_the_generated_image(tmp_path):
    bivlc(tmp_path)
    groups = read("bivlc", tmp_path)
    assert groups[1].captions == ("a man throws 1 balls", "a ball throws 1 men")
    assert groups[1].truth == (0, 1)
    assert groups[1].tags == {"type": "swap", "subtype": "obj"}
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11], [20, 21]]


@pytest.mark.parametrize("write", [vismin, vismin_parquet])
def test_vismin_reads_its_two_texts_and_its_category(tmp_path, write):
    write(tmp_path)
    groups = read("vismin", tmp_path)
    assert groups.ids == ["vismin-0", "vismin-1", "vismin-2"]
    assert groups[1].captions == ("3 men hold a dog", "4 men hold a dog")
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11], [20, 21]]
    assert groups[0].tags == {"category": "counting"}


def test_vismin_is_read_as_the_library_datasets_saves_it(tmp_path):
    """In three files, as on the hub, by the library itself."""
    library = pytest.importorskip("datasets", reason="the extra `hub`")
    rows = [
        {
            "image_0": PIL.Image.new("RGB", (8, 6), (10 * i, 0, 0)),
            "text_0": f"{i} a",
            "category": "count",
            "id": str(i),
        }
        for i in range(7)
    ]
    rows = [
        {**row, "image_1": PIL.Image.new("RGB", (8, 6), (10 * i + 1, 0, 0)), "text_1": f"{i} b"}
        for i, row in enumerate(rows)
    ]
    kinds = {
        **dict.fromkeys(("image_0", "image_1"), library.Image()),
        **dict.fromkeys(("text_0", "text_1", "category", "id"), library.Value("string")),
    }
    table = library.Dataset.from_list(rows, features=library.Features(kinds))
    library.DatasetDict({"test": table}).save_to_disk(tmp_path / "data", num_shards={"test": 3})
    assert len(list(tmp_path.glob("data/test/data-0000?-of-00003.arrow"))) == 3
    groups = read("vismin", tmp_path)
    assert [group.captions for group in groups] == [(f"{i} a", f"{i} b") for i in range(7)]
    assert [[red(image) for image in g.images] for g in groups] == [[10 * i, 10 * i + 1] for i in range(7)]


def test_half_a_file_of_vismin_is_one_sentence(tmp_path):
    vismin(tmp_path)
    path = tmp_path / "data/test/data-00000-of-00002.arrow"
    image = read("vismin", tmp_path)[1].images[0]
    path.write_bytes(path.read_bytes()[:-200])
    for fails in (lambda: read("vismin", tmp_path), image.open):
        with pytest.raises(InputError, match=r"data-00000-of-00002\.arrow is not a complete Arrow file"):
            fails()


def test_naturalbench_makes_a_group_of_each_question_with_its_two_answers(tmp_path):
    naturalbench(tmp_path)
    groups = read("naturalbench/questions", tmp_path)
    assert [g.captions for g in groups][:2] == [
        ("Is the squirrel climbing up? Yes", "Is the squirrel climbing up? No"),
        ("Is the squirrel climbing down? No", "Is the squirrel climbing down? Yes"),
    ]
    assert groups[3].captions[0].endswith("B:Helmet; B")
    assert [g.tags["sample"] for g in groups] == ["0", "0", "1", "1"]
    assert [g.tags["answers"] for g in groups] == ["yes/no"] * 2 + ["A/B"] * 2
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1]] * 2 + [[10, 11]] * 2
    pairs = read("naturalbench/retrieval", tmp_path)
    assert pairs[1].captions == ("up 1", "down 1")
    assert [red(image) for image in pairs[1].images] == [10, 11]


def test_naturalbench_refuses_answers_that_do_not_alternate(tmp_path):
    """Upstream's scores count on question 0 being Yes on image 0 and No on image 1, question 1 the reverse."""
    answers = {f"Image_{i}_Question_{j}": "Yes" for i in range(2) for j in range(2)}
    row = {"Index": 7, "Question_0": "a?", "Question_1": "b?", "Image_0": cell(0), "Image_1": cell(1)}
    write_parquet(tmp_path / "data/train-00000-of-00001.parquet", [row | answers])
    with pytest.raises(InputError, match=r"question 0 of sample 7 has the answers \('Yes', 'Yes'\)"):
        read("naturalbench/questions", tmp_path)


# --- 1xk -----------------------------------------------------------------------------------------------------------


def test_sugarcrepe_puts_the_true_caption_first_and_keeps_upstreams_ids(tmp_path):
    sugarcrepe(tmp_path)
    groups = read("sugarcrepe/swap_obj", tmp_path)
    assert groups.ids == ["sugarcrepe-swap_obj-0", "sugarcrepe-swap_obj-2"]
    assert groups[1].captions == ("true 2", "false 2")
    assert groups[1].truth == (0,)
    assert red(groups[1].images[0]) == 10


def test_valse_leaves_out_what_the_annotators_did_not_accept(tmp_path):
    valse(tmp_path)
    groups = read("valse/existence", tmp_path)
    assert groups.ids == ["valse-existence-existence_visual7w_0", "valse-existence-existence_visual7w_2"]
    assert groups[1].captions == ("There are 2 people in the picture.", "There are 3 people in the picture.")
    assert [g.tags["votes"] for g in groups] == ["3", "2"]
    assert red(groups[1].images[0]) == 20


def test_sugarcrepe_plus_plus_has_two_true_captions(tmp_path):
    sugarcrepe_pp(tmp_path)
    groups = read("sugarcrepe-pp/swap_obj", tmp_path)
    assert groups.truth.tolist() == [[0, 1]] * 3
    assert groups[1].captions == ("a cat sits on 1 plants", "1 plants carry a cat", "1 plants sit on a cat")
    assert red(groups[2].images[0]) == 20


def test_bla_has_two_true_sentences_of_four(tmp_path):
    bla(tmp_path)
    groups = read("bla/active-passive", tmp_path)
    assert groups.truth.tolist() == [[0, 1]] * 3
    assert groups[1].captions[:3] == (
        "the man holds 1 cups",
        "1 cups are held by the man",
        "1 cups hold the man",
    )
    assert red(groups[1].images[0]) == 10


def test_negbench_finds_images_by_name_and_keeps_the_place_of_the_answer(tmp_path):
    negbench(tmp_path)
    groups = read("negbench/coco", tmp_path)
    assert groups.truth.tolist() == [[0], [1], [2]]
    assert [g.tags["template"] for g in groups] == ["hybrid", "positive", "negative"]
    assert [red(g.images[0]) for g in groups] == [0, 10, 20]


def test_spec_has_as_many_captions_as_an_image_needs(tmp_path):
    spec(tmp_path)
    groups = read("spec/count", tmp_path)
    assert dict(groups.shapes) == {(1, 2): 1, (1, 3): 1, (1, 4): 1}
    assert [g.truth for g in groups] == [(0,), (1,), (2,)]
    assert red(groups[2].images[0]) == 20


def test_spec_s_captions_choose_among_as_many_images_as_each_has(tmp_path):
    spec_text_to_image(tmp_path)
    found = read("spec/count-text-to-image", tmp_path)
    assert found.queries == ("2 cups", "3 cups")
    assert found.choices.tolist() == [[0, 1, -1], [0, 1, 2]]
    assert found.links.tolist() == [[0, 0], [1, 1]]
    assert [red(image) for image in found.images] == [0, 10, 20]


def test_svo_probes_keeps_rows_that_differ_in_one_part_and_have_both_images(tmp_path):
    svo_probes(tmp_path)
    found = read("svo-probes/verb", tmp_path)
    assert found.queries == ("A woman jumps over 1 fences.", "A woman jumps over 2 fences.")
    assert [[red(found.images[i]) for i in row] for row in found.choices] == [[10, 20], [20, 30]]
    assert found.links[:, 1].tolist() == found.choices[:, 0].tolist()
    whole = read("svo-probes/verb", tmp_path, images=False)
    assert len(whole.queries) == 3  # captions alone: all, with or without images
    assert read("svo-probes/subject", tmp_path).queries == ("A woman jumps over 0 fences.",)


def test_imagecode_counts_images_by_the_order_of_their_numbers(tmp_path):
    imagecode(tmp_path)
    found = read("imagecode/full", tmp_path, "validation")
    assert len(found.queries) == 3 and len(found.images) == 20
    assert [red(found.images[image]) for _, image in found.links] == [
        20,
        0,
        95,
    ]  # place 2 is img14.jpg, not img2.jpg
    assert read("imagecode/static", tmp_path, "validation").queries == ("A red door. ",)
    assert len(read("imagecode/video", tmp_path, "validation").images) == 10
    simple = read("imagecode/simple", tmp_path, "validation")
    assert [[red(simple.images[i]) for i in row] for row in simple.choices] == [[20, 90]]
    next((tmp_path / "data/image-sets").glob("open*/img3.jpg")).unlink()
    with pytest.raises(InputError, match=r"the set open-images-1_ab has 9 images .*, not 10"):
        read("imagecode/full", tmp_path, "validation")


def test_coco_counterfactuals_pairs_generated_images_with_their_captions(tmp_path):
    coco_counterfactuals(tmp_path)
    groups = read("coco-counterfactuals", tmp_path)
    assert groups[1].captions == ("a dog runs 1", "a cat runs 1")
    assert [[red(image) for image in g.images] for g in groups] == [[0, 1], [10, 11], [20, 21]]


def test_colorfoil_replaces_whole_colour_words_and_draws_the_same_foils_everywhere(tmp_path):
    """By hand: 'red' of 'tired' and 'covered' stays, 'Red,' is none, a colour that the caption has is no foil's."""
    colorfoil(tmp_path)
    groups = read("colorfoil", tmp_path)
    assert [g.id for g in groups] == ["colorfoil-1", "colorfoil-3"]
    assert [g.tags["colour"] for g in groups] == ["red and white", "gray and snow"]
    assert [red(g.images[0]) for g in groups] == [10, 30]
    true, false = groups[0].captions
    assert true == "A red dog on a covered red and white bed."
    words = false.split(" ")
    assert words[:1] + words[2:6] + words[7:8] + words[9:] == [
        "A",
        "dog",
        "on",
        "a",
        "covered",
        "and",
        "bed.",
    ]
    assert words[1] == words[6] != words[8]
    assert {words[1], words[8]} <= {"blue", "black", "pink", "yellow", "grey", "orange", "green", "brown"}
    assert "grey" not in groups[1].captions[1]  # as gray as before
    assert [g.captions for g in read("colorfoil", tmp_path)] == [g.captions for g in groups]


def test_images_are_shared_between_data_sets_that_lie_side_by_side(tmp_path):
    sugarcrepe(tmp_path / "sugarcrepe")
    (tmp_path / "coco").mkdir()
    (tmp_path / "sugarcrepe/val2017").rename(tmp_path / "coco/val2017")
    groups = read("sugarcrepe/swap_obj", tmp_path / "sugarcrepe")
    assert groups[0].images[0].path == tmp_path / "coco/val2017/000000.jpg"


def test_crepe_crops_the_region_and_parses_the_lists_of_negatives(tmp_path):
    crepe(tmp_path)
    groups = read("crepe/swap", tmp_path)
    assert groups.shape == (1, 6)
    assert len(groups) == 18
    assert groups[0].captions[:2] == ("a dog on grass 0", "a cat's 0")
    assert [g.tags["complexity"] for g in groups][::2] == [str(c) for c in range(4, 13)]
    assert groups[1].images[0].open().size == (4, 3)
    assert red(groups[1].images[0]) == 10  # image 2 lies in VG_100K_2
    assert groups[0].images[0].key == groups[2].images[0].key != groups[1].images[0].key


def test_crepe_systematicity_has_several_shapes_and_leaves_out_rows_without_negatives(tmp_path):
    crepe(tmp_path)
    groups = read("crepe/systematicity-atom-cc12m", tmp_path)
    assert dict(groups.shapes) == {(1, 6): 2, (1, 3): 2}
    assert [g.tags["compounds"] for g in groups] == ["seen", "seen", "unseen", "unseen"]


def test_crepe_negatives_are_data_and_never_run(tmp_path):
    crepe(tmp_path)
    name = "data/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv"
    rows = crepe_rows("hard_negs", [["x"]])
    rows[0]["hard_negs"] = f"open({str(tmp_path / 'ran')!r}, 'w')"
    write_csv(tmp_path / name, rows)
    with pytest.raises(InputError, match=r"complexity_4\.csv is not a CREPE table"):
        read("crepe/swap", tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "tag"),
    [("aro/vg-relation", {"relation": "under"}), ("aro/vg-attribution", {"attributes": "red_tall"})],
)
def test_aro_keeps_the_false_caption_first_and_crops_to_the_box(tmp_path, name, tag):
    aro(tmp_path)
    groups = read(name, tmp_path)
    assert groups[0].captions == ("the table is under the dog", "the dog is under the table")
    assert groups[0].truth == (1,)
    assert groups[0].tags == tag
    assert groups[1].images[0].open().size == (4, 3)


@pytest.mark.parametrize("name", ["aro/coco-order", "aro/flickr30k-order"])
def test_aro_order_reads_a_fixed_draw_of_shuffles(tmp_path, name):
    aro(tmp_path)
    groups = read(name, tmp_path)
    assert groups.shape == (1, 5)
    assert groups[1].captions == ("a dog runs", *(f"runs dog a {i}" for i in range(1, 5)))
    assert groups[1].truth == (0,)
    assert red(groups[1].images[0]) == 10


@pytest.mark.parametrize(("part", "files"), [("object", 42), ("attribute", 10), ("relation", 4)])
def test_vl_checklist_reads_every_file_of_a_part(tmp_path, part, files):
    """Objects: 2 aspects of 3 values, each in 1 HAKE, 4 SWiG and 2 Visual Genome files."""
    vl_checklist(tmp_path)
    groups = read(f"vl-checklist/{part}", tmp_path)
    assert len(groups) == files
    assert groups[0].captions == ("pizza ON plate", "pizza under plate")
    sources = {
        "object": {"hake", "swig", "vg"},
        "attribute": {"vaw", "vg"},
        "relation": {"hake", "swig", "vg"},
    }
    assert {g.tags["source"] for g in groups} == sources[part]


# --- retrieval and scene graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["gqa", "paco"])
def test_cola_single_object_has_relevance_and_hard_lists_by_query(tmp_path, part):
    cola(tmp_path)
    found = read(f"cola/single-{part}", tmp_path)
    assert found.queries == ("square white plate", "red cup", "blue cup")
    assert found.relevant.tolist() == [
        [True, False, True, False],
        [False, True, True, False],
        [False, False, False, False],
    ]
    assert found.any_word.astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 1, 0, 1]]
    assert [red(image) for image in found.images] == [0, 1, 10, 11]


def test_coco_links_every_caption_to_its_image(tmp_path):
    coco(tmp_path)
    found = read("coco", tmp_path)
    assert len(found) == 2
    assert len(found.queries) == 11
    assert found.links[:, 1].tolist() == [0] * 5 + [1] * 6
    assert found.relevant.sum(axis=1).tolist() == [1] * 11
    assert [red(image) for image in found.images] == [0, 10]


def test_flickr30k_reads_karpathys_own_file_by_split(tmp_path):
    flickr30k(tmp_path)
    assert [red(image) for image in read("flickr30k", tmp_path).images] == [10, 30]
    found = read("flickr30k", tmp_path, "validation")
    assert found.queries == tuple(f"2 {j}" for j in range(5))
    assert found.split == "validation"


@pytest.mark.parametrize("names", ["classnames.txt", "LOC_synset_mapping.txt", "imagenet_class_index.json"])
def test_imagenet_asks_for_each_image_which_class_it_shows(tmp_path, names):
    imagenet(tmp_path / "imagenet")
    (tmp_path / "imagenet/classnames.txt").unlink()
    texts = {
        "classnames.txt": "n01440764 tench\nn01443537 goldfish\n",
        "LOC_synset_mapping.txt": "n01440764 tench, Tinca tinca\nn01443537 goldfish, Carassius auratus\n",
        "imagenet_class_index.json": '{"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]}',
    }
    (tmp_path / "imagenet" / names).write_text(texts[names])
    found = read("imagenet", tmp_path / "imagenet")
    assert found.queries == ("a photo of a tench.", "a photo of a goldfish.")
    assert found.relevant.astype(int).tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    assert [red(image) for image in found.images] == [0, 1, 10, 11, 12]


def test_imagenet_s_validation_split_is_one_training_image_per_class(tmp_path):
    folder = tmp_path / "imagenet"
    imagenet(folder)
    with pytest.raises(InputError, match=r"holds no shot_1-seed_1\.json"):
        read("imagenet", folder, "validation")
    imagenet_one_shot(folder)
    found = read("imagenet", folder, "validation")
    assert found.queries == read("imagenet", folder).queries
    assert found.relevant.astype(int).tolist() == [[1, 0], [0, 1]]
    assert [red(image) for image in found.images] == [20, 21]
    sample = folder / "indices/imagenet/shot_1-seed_1.json"
    whole = json.loads(sample.read_text())
    write_json(sample, {"train": {"data": whole["train"]["data"][:1]}})
    with pytest.raises(
        InputError, match=r"is not a few-shot sample of ImageNet .it has no image of n01440764"
    ):
        read("imagenet", folder, "validation")
    sample.write_text("{}")
    with pytest.raises(InputError, match="no 'train'"):
        read("imagenet", folder, "validation")
    write_json(sample, whole)
    (folder / "images/train/n01443537/n01443537_7.JPEG").unlink()
    with pytest.raises(InputError, match=r"n01443537_7.JPEG is missing"):
        read("imagenet", folder, "validation")


def test_gqa_graphs_have_objects_attributes_and_the_relations_of_listed_objects(tmp_path):
    gqa(tmp_path)
    (graph,) = read("gqa", tmp_path, "validation").graphs
    assert graph.id == "gqa-2407890"
    assert [(o.names, o.attributes, o.box) for o in graph.objects] == [
        (("chair",), ("brown", "wooden"), (1, 2, 3, 4)),
        (("rug",), (), (0, 5, 8, 1)),
    ]
    assert [(r.subject, r.predicate, r.object) for r in graph.relations] == [("1", "on", "2")]
    assert graph.image.open().size == (8, 6)


def test_visual_genome_graphs_take_attributes_from_their_own_file(tmp_path):
    visual_genome(tmp_path)
    (graph,) = read("visual-genome", tmp_path, "all").graphs
    assert [(o.names, o.attributes) for o in graph.objects] == [
        (("clock",), ("green", "tall")),
        (("street",), ()),
    ]
    assert [(r.subject, r.predicate, r.object) for r in graph.relations] == [("1", "ON", "2")]


# --- damage ----------------------------------------------------------------------------------------------------------


def sample(name: str, folder: Path) -> tuple[list[Path], list[Path]]:
    """A sample's annotation files and image files."""
    SAMPLES[name](folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f for f in files if f.suffix not in IMAGES], [f for f in files if f.suffix in IMAGES]


def split_of(name: str) -> str:
    return datasets.benchmark_entry(name).splits[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_damaged_annotation_file_is_one_sentence_that_names_it(tmp_path, name):
    """Cut in half, replaced by another value, and gone: whatever this benchmark reads of it."""
    annotations, _ = sample(name, tmp_path / "data")
    told = []
    for path in annotations:
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b'[[1, 2, 3], {"a": null}]', b"\xff\xfe\x00", None):
            path.unlink()
            if damaged is not None:
                path.write_bytes(damaged)
            try:
                read(name, tmp_path / "data", split_of(name))
            except InputError as error:
                told.append(str(error))
                assert str(error).count("\n") == 0
                first = f"{path.name.partition('-')[0]}-*.parquet"  # as a table in parts is asked for
                assert any(part in str(error) for part in (path.stem, first)) or "prod_vg" in path.name
            path.write_bytes(whole)
    assert len(told) >= 3  # half a table may look whole; then the count check tells


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in IMAGES_IN_TABLES])
def test_a_missing_image_is_named_unless_captions_alone_are_asked_for(tmp_path, name):
    _, images = sample(name, tmp_path / "data")
    if name == "imagenet":
        for path in (tmp_path / "data/images/val/n01440764").iterdir():
            path.unlink()
        with pytest.raises(InputError, match="n01440764 holds no images"):
            read(name, tmp_path / "data")
        return
    for path in images:
        path.unlink()
    with pytest.raises(
        InputError, match=r"The image .*(jpg|jpeg|png|npy) is missing; put the data set's images"
    ):
        read(name, tmp_path / "data", split_of(name))
    found = read(name, tmp_path / "data", split_of(name), images=False)
    first = (
        found.graphs[0].image
        if hasattr(found, "graphs")
        else (getattr(found, "images", None) or found[0].images)[0]
    )
    with pytest.raises(InputError):
        first.open()


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path):
    sugarcrepe(tmp_path)
    rows = {"0": {"filename": "../../secret.jpg", "caption": "a", "negative_caption": "b"}}
    write_json(tmp_path / "data/swap_obj.json", rows)
    with pytest.raises(InputError, match="leads out of its folder"):
        read("sugarcrepe/swap_obj", tmp_path)


def test_names_numbers_and_arrays_that_are_none_are_sentences(tmp_path):
    """What fuzzing found: a name that no disk could hold, a number beyond all, an array with half a header."""
    sugarcrepe(tmp_path)
    rows = {"0": {"filename": "x" * 5000, "caption": "a", "negative_caption": "b"}}
    write_json(tmp_path / "data/swap_obj.json", rows)
    with pytest.raises(InputError, match="is missing; put the data set's images"):
        read("sugarcrepe/swap_obj", tmp_path)
    crepe(tmp_path)
    rows = [{**row, "width": "inf"} for row in crepe_rows("hard_negs", [["x"]])]
    write_csv(tmp_path / "data/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_4.csv", rows)
    with pytest.raises(InputError, match="is not a CREPE table"):
        read("crepe/swap", tmp_path)
    aro(tmp_path / "aro")
    rows = json.loads((tmp_path / "aro/visual_genome_relation.json").read_text())
    write_json(tmp_path / "aro/visual_genome_relation.json", [{**row, "bbox_w": 10**40} for row in rows])
    with pytest.raises(InputError, match="too large to be cut out"):
        read("aro/vg-relation", tmp_path / "aro")[0].images[0].open()
    eqben(tmp_path)
    for frame in (tmp_path / "eqben_vllm/images/eqbenyoucook2").iterdir():
        frame.write_bytes(frame.read_bytes().replace(b"'shape': (6, 8, 3)", b"'shape': ((((((((("))
    with pytest.raises(InputError, match="does not open"):
        read("eqben/mini", tmp_path)[2].images[0].open()
    write_json(tmp_path / "eqben_vllm/all_select.json", 1.5)
    with pytest.raises(InputError, match="not a list of EqBen's pairs"):
        read("eqben/mini", tmp_path)


def test_a_damaged_parquet_file_is_one_sentence(tmp_path):
    winoground_parquet(tmp_path)
    path = tmp_path / "data/test-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="is not a complete Parquet file"):
        read("winoground", tmp_path)
    write_parquet(path, [{"id": 3}])
    with pytest.raises(InputError, match="has no column 'caption_0'"):
        read("winoground", tmp_path)


# --- the registry ----------------------------------------------------------------------------------------------------

ENTRIES = [name for name in datasets.names(None) if datasets.benchmark_entry(name)]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_states_its_facts(name):
    found = datasets.benchmark_entry(name)
    assert found.name == name
    assert found.title
    assert found.licence
    assert found.source.startswith("https://")
    assert CITATIONS.get(found.citation, found.citation).startswith("@")
    assert found.layout
    assert found.splits
    assert set(found.counts) <= set(found.splits)
    assert found.counts or found.note, "a count, or why there is none"
    assert (found.metric in UNITS) == (found.kind != base.GRAPHS)
    assert all(split in ("train", "validation", "test", "all") for split in found.splits)
    if found.reference is not None:
        results = load_results()
        rows = results[(results.dataset == found.reference[0]) & (results.subset == found.reference[1])]
        # TTM and VGPT give a whole data set's numbers under no subset
        assert len(rows), found.reference


@pytest.mark.parametrize("name", ENTRIES)
def test_without_data_the_state_is_the_next_step_and_loading_says_it(name):
    state = datasets.state(name)
    assert state.startswith("needs: ")
    assert "http" in state or "hf download" in state
    assert "{" not in state
    load = {
        base.GROUPS: datasets.load,
        base.RETRIEVAL: datasets.load_retrieval,
        base.GRAPHS: datasets.load_graphs,
    }[datasets.benchmark_entry(name).kind]
    with pytest.raises(InputError, match="is not here; it needs: "):
        load(name, datasets.benchmark_entry(name).splits[0])


def test_built_in_sets_are_built_in():
    assert datasets.state("scenes/left-right") == datasets.state("scenes/retrieval") == "built in"
    assert datasets.benchmark_entry("scenes/left-right") is None
    assert len(datasets.load_retrieval("scenes/retrieval", "validation").queries) == 240


def test_data_are_found_in_the_variables_folder_before_the_users_own(tmp_path, monkeypatch):
    sugarcrepe(tmp_path / "home/data/sugarcrepe")
    own = tmp_path / "home/data/sugarcrepe"
    assert datasets.state("sugarcrepe/swap_obj") == f"found at {own}"
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path / "disk"))
    assert datasets.state("sugarcrepe/swap_obj") == f"found at {own}"
    sugarcrepe(tmp_path / "disk/sugarcrepe")
    assert datasets.state("sugarcrepe/swap_obj") == f"found at {tmp_path / 'disk/sugarcrepe'}"
    # a folder that has not everything yields to one that has
    (tmp_path / "disk/sugarcrepe/data/swap_obj.json").unlink()
    assert datasets.state("sugarcrepe/swap_obj") == f"found at {own}"


def test_a_folder_that_lacks_something_says_what(tmp_path):
    sugarcrepe(tmp_path / "home/data/sugarcrepe")
    assert datasets.state("sugarcrepe/add_att").startswith(
        "needs: add_att.json; run `crossmatch fetch sugarcrepe`, or download https://"
    )


def test_loading_checks_the_count_and_gives_the_set_its_facts(tmp_path):
    sugarcrepe(tmp_path)
    with pytest.raises(InputError, match=r"gives 2 items for sugarcrepe/swap_obj \(test\), upstream has 245"):
        datasets.load("sugarcrepe/swap_obj", folder=tmp_path)
    groups = datasets.load("sugarcrepe/swap_obj", folder=tmp_path, partial=True)
    assert groups.name == "sugarcrepe/swap_obj"
    assert groups.title == "SugarCrepe: Swap Object"
    assert "MIT" in groups.licence
    assert "hsieh2023sugarcrepe" in groups.citation


def test_loading_checks_the_shape_and_the_number_of_queries(tmp_path):
    sugarcrepe(tmp_path)
    rows = {str(i): {"filename": "000000.jpg", "caption": "a", "negative_caption": "b"} for i in range(245)}
    write_json(tmp_path / "data/swap_obj.json", rows)
    assert len(datasets.load("sugarcrepe/swap_obj", folder=tmp_path)) == 245
    cola(tmp_path / "cola")
    entry = datasets.benchmark_entry("cola/single-gqa")
    found = entry.load("test", tmp_path / "cola", images=True, partial=True)
    fake = type(found)("x", "test", found.images * 488, found.queries, found.links)
    with pytest.raises(InputError, match="3 queries for cola/single-gqa, upstream has 320"):
        entry._check(fake, "test", tmp_path)


def test_a_wrong_kind_a_wrong_split_and_a_wrong_folder_are_sentences(tmp_path):
    with pytest.raises(
        InputError, match=r"coco is a benchmark of retrieval, not of groups; .*`crossmatch recall`"
    ):
        datasets.load("coco")
    with pytest.raises(InputError, match=r"winoground is a benchmark of groups, .*`crossmatch evaluate`"):
        datasets.load_retrieval("winoground")
    with pytest.raises(InputError, match="Unknown split 'dev'"):
        datasets.load("winoground", "dev")
    with pytest.raises(InputError, match="does not exist"):
        datasets.load("winoground", folder=tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no data/test-\*.parquet|holds no examples.jsonl"):
        datasets.load("winoground", folder=tmp_path)


def test_reading_a_cell_too_few_is_told(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="row 3 has 1 cell, the header 2"):
        _file_reading.read_rows(path, ("a", "b"))


def test_a_new_benchmark_needs_a_reader_and_a_line_alone(tmp_path, monkeypatch):
    """Neither the list of downloads nor that of citations knows it."""
    from core.exchange.fetch import fetch_benchmark

    def read_pairs(folder: _file_reading.DatasetFolder, split: str) -> Iterator[Group]:
        image = folder.images("images")
        with folder.table("pairs.csv", "Newcomer's pairs", ("name", "right", "wrong")) as rows:
            for row in rows:
                yield Group(row["name"], (image(row["name"]),), (row["right"], row["wrong"]), (0,))

    new = base.Benchmark(
        name="newcomer",
        title="Newcomer",
        source="https://example.org/newcomer",
        licence="CC0",
        citation="@misc{newcomer}",
        metric="text_score",
        read=read_pairs,
        layout=("pairs.csv", "images"),
        shape=(1, 2),
    )
    monkeypatch.setitem(datasets.DATASETS, "newcomer", base.BenchmarkFamily([new]))
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    place = tmp_path / "newcomer"
    asked = f"needs: get it from https://example.org/newcomer, and put it into {place}"
    assert datasets.state("newcomer") == asked
    with pytest.raises(InputError, match="cannot be fetched from here; it needs: get it from"):
        fetch_benchmark("newcomer")
    (place / "images").mkdir(parents=True)
    (place / "images" / "a.png").write_bytes(b"")
    assert datasets.state("newcomer").startswith("needs: pairs.csv; get it from")
    write_csv(place / "pairs.csv", [{"name": "a.png", "right": "a cat ", "wrong": "a dog"}])
    found = datasets.load("newcomer")
    assert found[0].captions == ("a cat ", "a dog") and found.citation == "@misc{newcomer}"
    write_csv(place / "pairs.csv", [{"name": "a.png", "right": "a cat"}])
    with pytest.raises(InputError, match="has no column 'wrong' among: name, right"):
        datasets.load("newcomer")
