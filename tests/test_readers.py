"""Every reader on a small made-up sample in upstream's exact layout, whole and damaged."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from core import datasets
from core.datasets import base, reading, vlchecklist
from core.errors import InputError
from core.papers import CITATIONS, UNITS, load_results


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(monkeypatch):
    monkeypatch.delenv("CROSSMATCH_DATA", raising=False)


def png(shade: int, size: tuple[int, int] = (8, 6)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, (shade % 256, 100, 50)).save(data, "PNG")
    return data.getvalue()


def picture(path: Path, shade: int = 0) -> None:
    """An image file whose red channel is `shade`; readers open by content, so any ending will do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(shade))


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(path: Path, rows: list[dict[str, object]], per_group: int = 2) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=per_group)


def cell(shade: int) -> dict[str, object]:
    """An image as Hugging Face stores it in a Parquet file."""
    return {"bytes": png(shade), "path": "image.png"}


def red(image) -> int:
    return image.open().getpixel((0, 0))[0]


def read(name: str, folder: Path, split: str = "test", images: bool = True):
    return datasets.entry(name).read(folder, split, images)


# --- samples: one function per layout; image shades are 10 * group + place -----------------------------------------


def winoground_rows() -> list[dict[str, object]]:
    common = {"tag": "Noun", "secondary_tag": "", "num_main_preds": 1, "collapsed_tag": "Object"}
    return [
        {
            "id": i,
            "image_0": f"ex_{i}_img_0",
            "image_1": f"ex_{i}_img_1",
            "caption_0": f"{i} dogs chase cats",
            "caption_1": f"{i} cats chase dogs",
            **common,
        }
        for i in range(3)
    ]


def winoground(folder: Path) -> None:
    lines = [json.dumps(row) for row in winoground_rows()]
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "examples.jsonl").write_text("\n".join(lines) + "\n")
    for i in range(3):
        for j in range(2):
            picture(folder / f"data/images/ex_{i}_img_{j}.png", 10 * i + j)
    write_json(
        folder / "new_tag_assignments.json",
        {"0": [], "1": ["Non Minimal", "Unusual Text"], "2": ["Visually Difficult"]},
    )


def winoground_parquet(folder: Path) -> None:
    rows = [
        {**row, "image_0": cell(10 * i), "image_1": cell(10 * i + 1)}
        for i, row in enumerate(winoground_rows())
    ]
    write_parquet(folder / "data/test-00000-of-00002.parquet", rows[:2], per_group=1)
    write_parquet(folder / "data/test-00001-of-00002.parquet", rows[2:])


def mmvp(folder: Path) -> None:
    rows = []
    for i in range(4):
        kind = ("Color", "Camera Perspective")[i // 2]
        rows.append({"Question ID": i + 1, "Type": kind, "Statement": f"statement {i}"})
        picture(folder / f"MLLM_VLM Images/{kind}/{i + 1}.jpg", 10 * (i // 2) + i % 2)
    write_csv(folder / "Questions.csv", rows)


def colorswap_rows(split: str) -> list[dict[str, object]]:
    return [
        {
            "id": i,
            "caption_1": f"{split} red cup {i} on a blue plate",
            "caption_2": f"{split} blue cup {i} on a red plate",
            "image_1": f"images/img_{i}_1.png",
            "image_2": f"images/img_{i}_2.png",
            "image_source": "midjourney",
            "caption_source": "human",
        }
        for i in range(2)
    ]


def colorswap(folder: Path) -> None:
    for split in ("train", "test"):
        write_json(folder / f"data/{split}.json", colorswap_rows(split))
    for i in range(2):
        for j in (1, 2):
            picture(folder / f"data/images/img_{i}_{j}.png", 10 * i + j - 1)


def colorswap_parquet(folder: Path) -> None:
    rows = [
        {**r, "image_1": cell(10 * i), "image_2": cell(10 * i + 1)}
        for i, r in enumerate(colorswap_rows("test"))
    ]
    write_parquet(folder / "data/test-00000-of-00001.parquet", rows)


def sugarcrepe(folder: Path) -> None:
    rows = {
        str(i): {"filename": f"00000{i}.jpg", "caption": f"true {i}", "negative_caption": f"false {i}"}
        for i in (0, 2)
    }
    write_json(folder / "data/swap_obj.json", rows)
    for i in (0, 2):
        picture(folder / f"val2017/00000{i}.jpg", 10 * (i // 2))


A_NAMES = [
    f"{objects[0]}_{relation}_{objects[1]}"
    for objects in (("pillow", "chair"), ("beer-bottle", "armchair"))
    for relation in ("left_of", "right_of", "on", "under")
]


def whatsup_rows(names: list[str], folder: str) -> list[dict[str, object]]:
    phrases = ["on", "to the left of", "to the right of", "under"]
    return [
        {
            "image_path": f"data/{folder}/{name}.jpeg",
            "caption_options": [f"true of {name}", *(f"{p} in {name}" for p in phrases[1:])],
        }
        for name in names
    ]


def whatsup(folder: Path) -> None:
    write_json(folder / "controlled_images_dataset.json", whatsup_rows(A_NAMES, "controlled_images"))
    for i, name in enumerate(A_NAMES):
        picture(folder / f"controlled_images/{name}.jpeg", i)
    names = [f"mug_{r}_bowl" for r in ("left_of", "right_of", "in-front_of", "behind")]
    write_json(folder / "controlled_clevr_dataset.json", whatsup_rows(names, "controlled_clevr"))
    for i, name in enumerate(names):
        picture(folder / f"controlled_clevr/{name}.jpeg", 50 + i)


def cola(folder: Path) -> None:
    address = "https://cs-people.bu.edu/array/data/vg_gqa_images"
    rows = [[f"{address}/{i}0.jpg", f"red cup {i}", f"{address}/{i}1.jpg", f"blue cup {i}"] for i in range(2)]
    write_json(folder / "data/COLA_multiobjects_matching_benchmark.json", rows)
    for i in range(2):
        for j in range(2):
            picture(folder / f"images/{i}{j}.jpg", 10 * i + j)
    labels = ["square white plate", "red cup", "blue cup"]
    objects = {"plate": ["square", "white"]}
    data = [
        ["vg/00.jpg", objects, [1, 0, 0], [1, 1, 0]],
        ["vg/01.jpg", objects, [0, 1, 0], [1, 1, 1]],
        ["vg/10.jpg", objects, [1, 1, 0], [1, 1, 0]],
        ["vg/11.jpg", objects, [0, 0, 0], [0, 0, 1]],
    ]
    write_json(folder / "data/COLA_singleobjects_benchmark_GQA.json", {"labels": labels, "data": data})
    short = [[row[0], *row[2:]] for row in data]  # PACO's rows have no objects; eval.py reads a list of two
    write_json(folder / "data/COLA_singleobjects_benchmark_PACO.json", [labels, short])


def crepe_rows(column: str, negatives: list[list[str]]) -> list[dict[str, object]]:
    return [
        {
            "Unnamed: 0": i,
            "image_id": i + 1,
            "region_id": 7,
            "caption": f"a dog on grass {i}",
            "x": 2,
            "y": 1,
            "width": 4,
            "height": 3,
            column: str(texts),
        }
        for i, texts in enumerate(negatives)
    ]


def crepe(folder: Path) -> None:
    five = [f"a cat's {j}" for j in range(5)]
    for complexity in range(4, 13):
        name = f"data/prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_{complexity}.csv"
        write_csv(folder / name, crepe_rows("hard_negs", [five, five]))
    for seen in ("seen", "unseen"):
        name = f"data/syst_hard_negatives/syst_vg_hard_negs_{seen}_compounds_in_cc12m.csv"
        write_csv(folder / name, crepe_rows("valid_hard_negs_atom", [five, five[:2], []]))
    for i in range(3):
        picture(folder / f"{('VG_100K', 'VG_100K_2')[i % 2]}/{i + 1}.jpg", 10 * i)


def aro(folder: Path) -> None:
    box = {"bbox_x": 2, "bbox_y": 1, "bbox_w": 4, "bbox_h": 3}
    texts = {"true_caption": "the dog is under the table", "false_caption": "the table is under the dog"}
    for part, extra in (
        ("relation", {"relation_name": "under"}),
        ("attribution", {"attributes": ["red", "tall"]}),
    ):
        rows = [{"image_path": f"{i}.jpg", **box, **texts, **extra} for i in range(2)]
        write_json(folder / f"visual_genome_{part}.json", rows)
    for i in range(2):
        picture(folder / f"images/{i}.jpg", 10 * i)
    captions = {"correct_caption": "a dog runs", **{f"hard_text_{i}": f"runs dog a {i}" for i in range(1, 5)}}
    write_parquet(
        folder / "coco-order/data/test-00000-of-00001.parquet",
        [{"images": cell(10 * i), **captions} for i in range(2)],
    )
    cases = [
        {"image": f"flickr30k-images/{i}.jpg", "caption_options": list(captions.values())} for i in range(2)
    ]
    write_json(folder / "flickr30k_order.json", cases)
    for i in range(2):
        picture(folder / f"flickr30k-images/{i}.jpg", 10 * i)


def vl_checklist(folder: Path) -> None:
    names = {"vg": "VG_100K/1.jpg", "swig": "kneading_24.jpg", "hake": "pic/outdoor_05373.jpg"}
    for key, name in names.items():
        picture(folder / key / name)
    for part in ("object", "attribute", "relation"):
        for file in vlchecklist._files(part):
            rows = [[names[file.images], {"POS": ["pizza ON plate"], "NEG": ["pizza under plate"]}]]
            write_json(folder / "data" / file.path, rows)


def eqben(folder: Path) -> None:
    rows = []
    for i, source in enumerate(("eqbensd", "eqbenkubric_cnt", "eqbenyoucook2")):
        ending = "npy" if source == "eqbenyoucook2" else "png"
        names = [f"{source}/{i}_{j}.{ending}" for j in range(2)]
        rows.append({"image0": names[0], "caption0": "one", "image1": names[1], "caption1": "two"})
        for j, name in enumerate(names):
            path = folder / "eqben_vllm/images" / name
            picture(path, 10 * i + j)
            if ending == "npy":  # BGR, so red comes last
                pixels = np.full((6, 8, 3), (50, 100, 10 * i + j), np.uint8)
                np.save(path, pixels)
    rows[0]["caption0"] = ["one", "uno"]
    write_json(folder / "eqben_vllm/all_select.json", rows)
    table = [
        {"id": i, "image_0": f"a/{i}0.png", "image_1": f"a/{i}1.png", "caption_0": "one", "caption_1": "two"}
        for i in range(2)
    ]
    write_csv(folder / "eqben_val/metadata.csv", table)
    for i in range(2):
        for j in range(2):
            picture(folder / f"eqben_val/a/{i}{j}.png", 10 * i + j)


def coco(folder: Path) -> None:
    files = [f"COCO_val2014_00000000000{i}.jpg" for i in range(2)]
    rows = [
        {"image": f"val2014/{f}", "caption": [f"{f} {j}" for j in range(5 + i)]} for i, f in enumerate(files)
    ]
    write_json(folder / "coco_karpathy_test.json", rows)
    for i, file in enumerate(files):
        picture(folder / "val2014" / file, 10 * i)


def flickr30k(folder: Path) -> None:
    images = [
        {
            "filename": f"{i}.jpg",
            "split": split,
            "imgid": i,
            "sentences": [{"raw": f"{i} {j}"} for j in range(5)],
        }
        for i, split in enumerate(("train", "test", "val", "test"))
    ]
    write_json(folder / "dataset_flickr30k.json", {"images": images, "dataset": "flickr30k"})
    for i in range(4):
        picture(folder / f"flickr30k-images/{i}.jpg", 10 * i)


def imagenet(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "classnames.txt").write_text("n01440764 tench\nn01443537 goldfish\n")
    for i, synset in enumerate(("n01440764", "n01443537")):
        for j in range(2 + i):
            picture(folder / f"images/val/{synset}/ILSVRC2012_val_{i}{j}.JPEG", 10 * i + j)


def gqa(folder: Path) -> None:
    chair = {"name": "chair", "x": 1, "y": 2, "w": 3, "h": 4, "attributes": ["brown", "wooden"]}
    rug = {"name": "rug", "x": 0, "y": 5, "w": 8, "h": 1, "attributes": [], "relations": []}
    relations = [{"name": "on", "object": "2"}, {"name": "near", "object": "9"}]  # 9 is not listed
    objects = {"1": {**chair, "relations": relations}, "2": rug}
    graph = {"width": 8, "height": 6, "location": "living room", "objects": objects}
    write_json(folder / "sceneGraphs/val_sceneGraphs.json", {"2407890": graph})
    picture(folder / "images/2407890.jpg")


def visual_genome(folder: Path) -> None:
    box = {"x": 1, "y": 2, "w": 3, "h": 4}
    objects = [{"object_id": i, "names": [n], "synsets": [], **box} for i, n in ((1, "clock"), (2, "street"))]
    relations = [
        {"predicate": "ON", "subject_id": 1, "object_id": o, "relationship_id": 5, "synsets": []}
        for o in (2, 9)
    ]
    write_json(
        folder / "scene_graphs.json", [{"image_id": 1, "objects": objects, "relationships": relations}]
    )
    attributes = [{"object_id": 1, "names": ["clock"], "attributes": ["green", "tall"], **box}]
    write_json(folder / "attributes.json", [{"image_id": 1, "attributes": attributes}])
    picture(folder / "VG_100K/1.jpg")


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


# --- 1xk -----------------------------------------------------------------------------------------------------------


def test_sugarcrepe_puts_the_true_caption_first_and_keeps_upstreams_ids(tmp_path):
    sugarcrepe(tmp_path)
    groups = read("sugarcrepe/swap_obj", tmp_path)
    assert groups.ids == ["sugarcrepe-swap_obj-0", "sugarcrepe-swap_obj-2"]
    assert groups[1].captions == ("true 2", "false 2")
    assert groups[1].truth == (0,)
    assert red(groups[1].images[0]) == 10


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
    assert found.image_of is None


def test_coco_links_every_caption_to_its_image(tmp_path):
    coco(tmp_path)
    found = read("coco", tmp_path)
    assert len(found) == 2
    assert len(found.queries) == 11
    assert found.image_of.tolist() == [0] * 5 + [1] * 6
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
    assert found.query_of.tolist() == [0, 0, 1, 1, 1]
    assert [red(image) for image in found.images] == [0, 1, 10, 11, 12]


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

SAMPLES = {
    "winoground": winoground,
    "mmvp-vlm": mmvp,
    "colorswap": colorswap,
    "sugarcrepe/swap_obj": sugarcrepe,
    "whatsup/a-left-right": whatsup,
    "cola/multi-object": cola,
    "cola/single-gqa": cola,
    "crepe/swap": crepe,
    "aro/vg-relation": aro,
    "aro/flickr30k-order": aro,
    "vl-checklist/relation": vl_checklist,
    "eqben/mini": eqben,
    "eqben/val": eqben,
    "coco": coco,
    "flickr30k": flickr30k,
    "imagenet": imagenet,
    "gqa": gqa,
    "visual-genome": visual_genome,
}
IMAGES = {".png", ".jpg", ".jpeg", ".JPEG", ".npy"}


def sample(name: str, folder: Path) -> tuple[list[Path], list[Path]]:
    """A sample's annotation files and image files."""
    SAMPLES[name](folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [f for f in files if f.suffix not in IMAGES], [f for f in files if f.suffix in IMAGES]


def split_of(name: str) -> str:
    return datasets.entry(name).splits[0]


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
                assert path.stem in str(error) or path.name in str(error) or "prod_vg" in path.name
            path.write_bytes(whole)
    assert len(told) >= 3  # half a table may look whole; then the count check tells


@pytest.mark.parametrize("name", SAMPLES)
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


def test_a_damaged_parquet_file_is_one_sentence(tmp_path):
    winoground_parquet(tmp_path)
    path = tmp_path / "data/test-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="is not a whole Parquet file"):
        read("winoground", tmp_path)
    write_parquet(path, [{"id": 3}])
    with pytest.raises(InputError, match="has no column 'caption_0'"):
        read("winoground", tmp_path)


# --- the registry ----------------------------------------------------------------------------------------------------

ENTRIES = [name for name in datasets.names(None) if datasets.entry(name)]


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_states_its_facts(name):
    found = datasets.entry(name)
    assert found.name == name
    assert found.title
    assert found.licence
    assert found.source.startswith("https://")
    assert found.citation in CITATIONS
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
    }[datasets.entry(name).kind]
    with pytest.raises(InputError, match="is not here; it needs: "):
        load(name, datasets.entry(name).splits[0])


def test_built_in_sets_are_built_in():
    assert datasets.state("scenes/left-right") == datasets.state("scenes/retrieval") == "built in"
    assert datasets.entry("scenes/left-right") is None
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
    entry = datasets.entry("cola/single-gqa")
    found = entry.read(tmp_path / "cola", "test", True)
    fake = type(found)("x", "test", found.images * 488, found.queries, found.links)
    with pytest.raises(InputError, match="3 queries for cola/single-gqa, upstream has 320"):
        entry._check(fake, "test", tmp_path)


def test_a_wrong_kind_a_wrong_split_and_a_wrong_folder_are_sentences(tmp_path):
    with pytest.raises(InputError, match="coco is a benchmark of retrieval, not of groups"):
        datasets.load("coco")
    with pytest.raises(InputError, match="Unknown split 'dev'"):
        datasets.load("winoground", "dev")
    with pytest.raises(InputError, match="does not exist"):
        datasets.load("winoground", folder=tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no data/test-\*.parquet|holds no examples.jsonl"):
        datasets.load("winoground", folder=tmp_path)


def test_reading_a_cell_too_few_is_told(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="row 2 has too few cells"):
        reading.read_csv(path, ("a", "b"))
