"""Small made-up samples of every benchmark in upstream's exact layout: what the readers' tests and the fuzzing read.

One function per layout writes its sample into a folder; the red of an image is 10 * group + place.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from core.datasets import vlchecklist


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


def bivlc(folder: Path) -> None:
    rows = [
        {
            "image": cell(10 * i),
            "caption": f"a man throws {i} balls",
            "negative_caption": f"a ball throws {i} men",
            "negative_image": cell(10 * i + 1),
            "type": "swap",
            "subtype": "obj",
        }
        for i in range(3)
    ]
    write_parquet(folder / "data/test-00000-of-00001.parquet", rows)


def vismin(folder: Path) -> None:
    """As the hub has it: files as `save_to_disk` of the library datasets writes them, a stream of Arrow's each."""
    import pyarrow as pa

    rows = [
        {
            "image_0": cell(10 * i),
            "text_0": f"{i + 2} men hold a dog",
            "image_1": cell(10 * i + 1),
            "text_1": f"{i + 3} men hold a dog",
            "id": str(i),
            "category": "counting",
        }
        for i in range(3)
    ]
    (folder / "data/test").mkdir(parents=True)
    for part, held in enumerate((rows[:2], rows[2:])):
        table = pa.Table.from_pylist(held)
        with pa.ipc.new_stream(folder / f"data/test/data-0000{part}-of-00002.arrow", table.schema) as stream:
            stream.write_table(table, max_chunksize=1)


def vismin_parquet(folder: Path) -> None:
    """The same as the hub's converter writes it."""
    import pyarrow as pa

    vismin(folder)
    parts = sorted((folder / "data/test").iterdir())
    rows = [row for part in parts for row in pa.ipc.open_stream(part.read_bytes()).read_all().to_pylist()]
    write_parquet(folder / "data/test-00000-of-00001.parquet", rows)
    for part in parts:
        part.unlink()


def naturalbench(folder: Path) -> None:
    """Both forms: questions in a table, captions in the list of the unpacked archive."""
    asked = ["Is the squirrel climbing {}?", "What is worn?\nOption: A:Knit cap {}; B:Helmet;"]
    answers = [("Yes", "No"), ("A", "B")]
    rows = []
    for i in range(2):
        row = {"Index": i, "Image_0": cell(10 * i), "Image_1": cell(10 * i + 1), "Source": "Flickr30K"}
        for j in range(2):
            right = answers[i] if j == 0 else answers[i][::-1]
            row |= {f"Question_{j}": asked[i].format("up" if j == 0 else "down")}
            row |= {f"Image_{image}_Question_{j}": right[image] for image in range(2)}
        rows.append(row)
    write_parquet(folder / "data/train-00000-of-00001.parquet", rows)
    naturalbench_retrieval(folder)


def naturalbench_retrieval(folder: Path) -> None:
    top = folder / "NaturalBench-Retrieval"
    pairs = [
        {
            "index": i,
            "image_0": f"{i}0.jpg",
            "image_1": f"{i}1.jpg",
            "caption_0": f"up {i}",
            "caption_1": f"down {i}",
        }
        for i in range(2)
    ]
    write_json(top / "metadata.json", pairs)
    for i in range(2):
        for j in range(2):
            picture(top / f"images/{i}{j}.jpg", 10 * i + j)


def valse(folder: Path) -> None:
    rows = {
        f"existence_visual7w_{i}": {
            "dataset": "visual7w",
            "image_file": f"v7w_{i}.jpg",
            "linguistic_phenomena": "existence",
            "caption": f"There are {i} people in the picture.",
            "classes": i,
            "foil": f"There are {i + 1} people in the picture.",
            "mturk": {"foil": 3 - votes, "caption": votes, "other": 0},
        }
        for i, votes in enumerate((3, 1, 2))
    }
    write_json(folder / "data/existence.json", rows)
    for i in range(3):
        picture(folder / f"visual7w/images/v7w_{i}.jpg", 10 * i)


def sugarcrepe_pp(folder: Path) -> None:
    rows = [
        {
            "id": i,
            "filename": f"00000{i}.jpg",
            "caption": f"a cat sits on {i} plants",
            "caption2": f"{i} plants carry a cat",
            "negative_caption": f"{i} plants sit on a cat",
        }
        for i in range(3)
    ]
    write_json(folder / "data/swap_obj.json", rows)
    for i in range(3):
        picture(folder / f"val2017/00000{i}.jpg", 10 * i)


def bla(folder: Path) -> None:
    rows = [
        {
            "image_id": 2400 + i,
            "caption_group": [
                {
                    "True1": f"the man holds {i} cups",
                    "True2": f"{i} cups are held by the man",
                    "False1": f"{i} cups hold the man",
                    "False2": f"the man is held by {i} cups",
                }
            ],
        }
        for i in range(3)
    ]
    write_json(folder / "annotations/active_passive_captions.json", rows)
    for i in range(3):
        picture(folder / f"images/{2400 + i}.jpg", 10 * i)


def negbench(folder: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "image_path": f"data/coco/images/val2017/00000{i}.jpg",
            "correct_answer": i,
            **{f"caption_{j}": f"This image features {j} cats, but no dog {i}." for j in range(4)},
            "correct_answer_template": ("hybrid", "positive", "negative")[i],
        }
        for i in range(3)
    ]
    write_csv(folder / "images/COCO_val_mcq_llama3.1_rephrased.csv", rows)
    for i in range(3):
        picture(folder / f"val2017/00000{i}.jpg", 10 * i)


def spec(folder: Path) -> None:
    rows = [
        {"query": f"images/{i}.jpg", "keys": [f"{j} cups" for j in range(2 + i)], "label": i}
        for i in range(3)
    ]
    write_json(folder / "data/count/image2text.json", rows)
    for i in range(3):
        picture(folder / f"data/count/images/{i}.jpg", 10 * i)


def spec_text_to_image(folder: Path) -> None:
    keys = [f"images/{i}.jpg" for i in range(3)]
    rows = [{"query": f"{2 + i} cups", "keys": keys[: 2 + i], "label": i} for i in range(2)]
    write_json(folder / "data/count/text2image.json", rows)
    for i, key in enumerate(keys):
        picture(folder / "data/count" / key, 10 * i)


def svo_probes(folder: Path) -> None:
    """Rows of each kind; the last two differ in two parts, and lack an image."""
    rows: list[dict[str, object]] = []
    for i, flags in enumerate(("100", "010", "010", "001", "110", "010")):
        subj, verb, obj = (flag == "1" for flag in flags)
        rows.append(
            {
                "sentence": f"A woman jumps over {i} fences.",
                "pos_triplet": "woman,jump,fence",
                "neg_triplet": "woman,climb,fence",
                "pos_url": f"https://example.org/{i}.jpg",
                "neg_url": f"https://example.org/{i + 1}.jpg",
                "pos_image_id": i,
                "neg_image_id": i + 1,
                "subj_neg": subj,
                "verb_neg": verb,
                "obj_neg": obj,
            }
        )
    write_csv(folder / "svo_probes.csv", rows)
    for i in range(6):
        picture(folder / f"images/{i}.jpg", 10 * i)


def imagecode(folder: Path) -> None:
    """A set of frames, whose numbers leave gaps, and one of photographs."""
    frames, photographs = "MSR-VTT-videoTrainValVideo_video7-shot1_0", "open-images-1_ab"
    write_json(
        folder / "data/valid_data.json",
        {frames: {"2": "The man looks up.", "0": "Nobody is seen."}, photographs: {"9": "A red door. "}},
    )
    rows = [{"directory": frames, "pos_idx": 2, "neg_idx": 9, "caption": "The man looks up."}]
    write_json(folder / "data/valid_simple.json", rows)
    for i in range(10):
        picture(folder / f"data/image-sets/{frames}/img{7 * i}.jpg", 10 * i)
        picture(folder / f"data/image-sets/{photographs}/img{i}.jpg", 10 * i + 5)


def coco_counterfactuals(folder: Path) -> None:
    rows = [
        {
            "id": str(i),
            "image_0": f"{i}_img_0",
            "image_1": f"{i}_img_1",
            "caption_0": f"a dog runs {i}",
            "caption_1": f"a cat runs {i}",
        }
        for i in range(3)
    ]
    (folder / "data").mkdir(parents=True)
    (folder / "data/examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for i in range(3):
        for j in range(2):
            picture(folder / f"data/images/{i}_img_{j}.jpg", 10 * i + j)


def colorfoil(folder: Path) -> None:
    """COCO's captions: an image whose second caption has colours, one with none, a greyscale one that is left out."""
    texts = {
        1: ["A tired dog.", "A red dog on a covered red and white bed.", "A blue dog."],
        2: ["Red, white."],
        7888: ["a black post"],
        3: ["a gray post in the snow"],
    }
    numbered = [(image, text) for image, several in texts.items() for text in several]
    value = {
        "images": [{"id": i, "file_name": f"{i:012}.jpg"} for i in texts],
        "annotations": [{"image_id": i, "id": 90 + j, "caption": t} for j, (i, t) in enumerate(numbered)],
    }
    write_json(folder / "annotations/captions_val2017.json", value)
    for i in texts:
        picture(folder / f"val2017/{i:012}.jpg", 10 * i)


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


def imagenet_one_shot(folder: Path) -> None:
    """Besides `imagenet`: a training image per class, in another order than the names."""
    rows = []
    for label, synset in ((1, "n01443537"), (0, "n01440764")):
        picture(folder / f"images/train/{synset}/{synset}_7.JPEG", 20 + label)
        path = f"./data/imagenet/images/train/{synset}/{synset}_7.JPEG"
        rows.append({"impath": path, "label": label, "classname": "a name"})
    val = [{**row, "impath": row["impath"].replace("_7", "_8")} for row in rows]
    sample = {"train": {"data": rows}, "val": {"data": val}}
    write_json(folder / "indices/imagenet/shot_1-seed_1.json", sample)


def cifar10(folder: Path) -> None:
    for split, labels in (("test", (3, 8, 0)), ("train", (9,))):
        rows = [{"img": cell(10 * i + 5), "label": label} for i, label in enumerate(labels)]
        write_parquet(folder / f"plain_text/{split}-00000-of-00001.parquet", rows)


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


# Benchmark -> who writes a sample of it.
SAMPLES: dict[str, Callable[[Path], None]] = {
    "winoground": winoground,
    "mmvp-vlm": mmvp,
    "colorswap": colorswap,
    "sugarcrepe/swap_obj": sugarcrepe,
    "sugarcrepe-pp/swap_obj": sugarcrepe_pp,
    "whatsup/a-left-right": whatsup,
    "cola/multi-object": cola,
    "cola/single-gqa": cola,
    "crepe/swap": crepe,
    "aro/vg-relation": aro,
    "aro/flickr30k-order": aro,
    "vl-checklist/relation": vl_checklist,
    "eqben/mini": eqben,
    "eqben/val": eqben,
    "bivlc": bivlc,
    "vismin": vismin,
    "naturalbench/questions": naturalbench,
    "naturalbench/retrieval": naturalbench_retrieval,
    "valse/existence": valse,
    "bla/active-passive": bla,
    "negbench/coco": negbench,
    "spec/count": spec,
    "spec/count-text-to-image": spec_text_to_image,
    "svo-probes/verb": svo_probes,
    "imagecode/full": imagecode,
    "imagecode/simple": imagecode,
    "coco-counterfactuals": coco_counterfactuals,
    "colorfoil": colorfoil,
    "coco": coco,
    "flickr30k": flickr30k,
    "imagenet": imagenet,
    "cifar-10": cifar10,
    "gqa": gqa,
    "visual-genome": visual_genome,
}

# Samples whose images lie in the table itself.
IMAGES_IN_TABLES = {"bivlc", "cifar-10", "vismin", "naturalbench/questions"}

# Endings of the samples' images; every other file is an annotation.
IMAGES = {".png", ".jpg", ".jpeg", ".JPEG", ".npy"}
