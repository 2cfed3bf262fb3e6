"""Cola's protocol, section by section of its paper: what is trained on, tested on and held out."""

import json
from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from small_cola import SMALL_COLA
from tiny_models import build_flava

from core.base.errors import InputError
from core.cola import tasks
from core.cola._queries import single_queries
from core.cola._training_data import COMPOUNDS, builtin_training_queries
from core.cola.run import StrategyRun
from core.cola.tasks import AdaptationTask
from core.datasets import DATASETS
from core.datasets.sets import SceneGraph, SceneObject
from core.debiasing.retrieval import retrieval_record
from core.groups import BytesImage
from core.metrics.retrieval import RetrievalEvaluation
from core.papers import _cola
from core.papers._tables import lines as table_lines
from core.scenes.retrieval import build_retrieval, load_retrieval
from core.scorers import _random_weights
from core.scorers._cola_heads import _ReadmeAdapterHead, make_fusion
from core.scorers.cola_adapted import AdaptedModel
from core.scorers.cola_config import MIXES, PAPER_SCALE, AdaptConfig
from core.scorers.cola_features import Features
from core.scoring.load import load_base, load_scorer
from core.scoring.retrieval import first_images, score_retrieval
from core.scoring.scores import score_matrix

SINGLE = AdaptConfig(mix="single")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """An empty data root in which a few items pass for a whole set."""
    monkeypatch.setenv("CROSSMATCH_DATA", str(tmp_path))
    for family in ("gqa", "clevr", "paco", "cola", "crepe"):
        known = DATASETS[family].benchmarks
        for name, entry in list(known.items()):
            monkeypatch.setitem(known, name, replace(entry, counts={}, queries=None))
    return tmp_path


def write(path, value=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def write_gqa(root, split, *scenes, first=0):
    """Scene graphs in GQA's layout: each scene a list of (noun, attributes)."""
    box, graphs = {"x": 1, "y": 2, "w": 3, "h": 4}, {}
    for number, scene in enumerate(scenes, first):
        objects = {
            str(i): {"name": noun, "attributes": said.split(), "relations": [], **box}
            for i, (noun, said) in enumerate(scene)
        }
        graphs[str(number)] = {"objects": objects}
        write(root / f"gqa/images/{number}.jpg")
    write(root / f"gqa/{split}_sceneGraphs.json", graphs)


def write_published(root, part, labels, rows):
    """Cola's single-object file: rows of (image, place of the right query)."""
    data = [
        [name, [], [int(i == right) for i in range(len(labels))], [1] * len(labels)] for name, right in rows
    ]
    write(root / f"cola/COLA_singleobjects_benchmark_{part}.json", {"labels": labels, "data": data})
    for name, _ in rows:
        write(root / f"cola/images/{name}")


def test_the_queries_of_gqa_that_training_holds_least_leave_it_with_their_images(data):
    """[Cola] 9: "we take 150 attribute object tuples from the 320 queries [...] that are seen the least in the training
    set and remove those images and queries from the training set completely"; here 2 of 4 queries."""
    often = {"black": 4, "red": 3, "green": 2, "blue": 1}
    write_gqa(
        data, "train", *([("plate", f"{colour} small")] for colour, n in often.items() for _ in range(n))
    )
    write_gqa(data, "val", [("plate", "red small")], first=50)
    labels = ["red small plate", "blue small plate", "black small plate", "small green plate"]
    write_published(data, "GQA", labels, [("50.jpg", 0), ("51.jpg", 1)])
    task = AdaptationTask.load("cola/single-gqa", SINGLE)
    assert task.test.unseen.tolist() == [False, True, False, True]
    assert len(task.material.images) == 7
    assert not any("blue" in caption or "green" in caption for caption in task.material.captions)
    assert {"red small plate", "black small plate"} <= set(task.material.captions)


def test_gqa_is_tested_on_images_of_an_object_with_two_attributes_or_more(data):
    """[Cola] 9: "For test, we filter the images with at least 2 attributes per object annotation"."""
    write_gqa(data, "train", *[[("cup", "red small")], [("cup", "blue small")]] * 2)
    told = [[("cup", "red small"), ("sky", "")], [("cup", "red")], [("cup", "red"), ("sky", "blue")]]
    write_gqa(data, "val", *told, [("cup", "blue small")], first=50)
    task = AdaptationTask.load("gqa", SINGLE)
    assert [image.path.stem for image in task.test.images] == ["50", "53"]


def write_cogent(root, part, *things):
    """Scenes of one object each in CLEVR-CoGenT's layout."""
    scenes = []
    for i, said in enumerate(things):
        colour, size, material, shape = said.split()
        facts = {
            "shape": shape,
            "color": colour,
            "size": size,
            "material": material,
            "pixel_coords": [1, 2, 3],
        }
        scenes.append({"image_filename": f"CLEVR_{part}_{i:06d}.png", "objects": [facts]})
        write(root / f"clevr/CLEVR_CoGenT_v1.0/images/{part}/CLEVR_{part}_{i:06d}.png")
    write(root / f"clevr/CLEVR_CoGenT_v1.0/scenes/CLEVR_{part}_scenes.json", {"scenes": scenes})


def test_clevr_trains_on_condition_a_and_counts_no_spheres_as_seen_or_unseen(data, monkeypatch):
    """[Cola] 9: "We train on condition A [...] and test on condition B [...] we leave out the spheres when reporting
    seen vs unseen. However, for all MAP, we report including spheres"."""
    monkeypatch.setattr(tasks, "_COGENT_SEEN", 1)
    things = ("gray large metal cube", "red large metal cylinder", "red small rubber sphere")
    write_cogent(data, "trainA", *things)
    write_cogent(data, "valB", "red large metal cube", "gray large metal cylinder", "red small rubber sphere")
    write_cogent(data, "valA", "gray large metal cube", "red large metal cylinder")
    made = AdaptationTask.load("clevr", SINGLE)
    assert len(made.material.images) == 3 and len(made.test.images) == 4
    labels = ["large gray metal cube", "red large metal cube", "red small rubber sphere"]
    write_published(data, "CLEVR", labels, [("CLEVR_valB_000000.png", 1), ("CLEVR_valA_000000.png", 0)])
    published = AdaptationTask.load("cola/single-clevr", SINGLE)
    assert len(published.material.images) == 3
    for test, names in (
        (made.test, {"red large metal cube", "gray large metal cylinder"}),
        (published.test, {labels[1]}),
    ):
        found = RetrievalEvaluation(
            test.relevant.astype(float), test.relevant, unseen=test.unseen, compared=test.compared
        ).parts()
        assert {q for q, there in zip(test.queries, found["unseen"], strict=True) if there} == names
        assert {q for q, there in zip(test.queries, found["seen"], strict=True) if there} <= {
            labels[0],
            things[0],
        }
        assert found["seen"].sum() == 1 and found["all"].all()


def test_figure_5_asks_clevr_for_one_two_and_three_attributes(data):
    things = ("gray large metal cube", "red large metal cylinder", "red small rubber sphere")
    for part in ("trainA", "valA", "valB"):
        write_cogent(data, part, *things)
    queries = AdaptationTask.load("clevr-attributes", SINGLE).test
    # Of each of the three objects 3 attributes, 3 pairs and 1 triple.
    assert np.bincount(queries.attributes).tolist() == [0, 9, 9, 3]
    parts = {cell.part for line in table_lines("cola/fig5") for cell in line.cells}
    assert parts == {"attributes-1", "attributes-2", "attributes-3"}


def test_condition_a_has_the_168_training_queries_that_the_paper_counts():
    """[Cola] 9: "For training, we have 168 possible queries"."""
    first, second = ("gray", "blue", "brown", "yellow"), ("red", "green", "purple", "cyan")
    of = {"cube": first, "cylinder": second, "sphere": first + second}
    things = [
        SceneObject(str(i), (shape,), said, (0, 0, 1, 1))
        for i, (shape, said) in enumerate(
            (shape, said)
            for shape, colours in of.items()
            for said in product(colours, ("large", "small"), ("metal", "rubber"))
        )
    ]
    graph = SceneGraph("all of A", BytesImage(b"a"), tuple(things), ())
    assert len(single_queries([graph], (1, 3))) == 168


def test_pacos_queries_are_the_most_frequent_ones_seen_and_never_seen_and_nothing_leaves_training(
    data, monkeypatch
):
    """[Cola] 9: "sampling the top 200 seen attribute-object queries and the top 200 unseen attribute-object queries";
    here one of each."""
    protocol = tasks._PROTOCOLS["paco"]
    monkeypatch.setitem(tasks._PROTOCOLS, "paco", protocol._replace(of_each=1))
    words = ["black", "red", "wooden"]
    test = [(0, 2), (0, 2), (0, 1), (1, 2), (1, 2), (1, 2)]  # attributes of one cup in each image
    for split, cups in (("train", [(0, 2), (0, 1)]), ("test", test)):
        value = {
            "images": [{"id": i, "file_name": f"val2017/{i}.jpg"} for i in range(len(cups))],
            "categories": [{"id": 1, "name": "cup"}],
            "attributes": [{"id": i, "name": word} for i, word in enumerate(words)],
            "annotations": [
                {
                    "id": i,
                    "obj_ann_id": i,
                    "image_id": i,
                    "category_id": 1,
                    "attribute_ids": cup,
                    "bbox": [1, 2, 3, 4],
                }
                for i, cup in enumerate(cups)
            ],
        }
        write(data / f"paco/annotations/paco_lvis_v1_{split}.json", value)
        for i in range(len(cups)):
            write(data / f"paco/val2017/{i}.jpg")
    task = AdaptationTask.load("paco", SINGLE)
    assert task.test.queries == ("red wooden cup", "black wooden cup")
    assert task.test.unseen.tolist() == [True, False]
    assert len(task.material.images) == 2


def test_table_1_trains_on_single_object_queries_and_table_2a_on_both_kinds():
    """[Cola] Tables 1, 2a and 2b: MM-Adapter on CLIP has 46.83 in Table 1 as with SingleObj in Table 2b, and 87.02 on
    CREPE in Table 2a as with "+ MultiObj" in Table 2b."""
    of_table = {
        table: {
            line.job.settings.mix
            for line in _cola.lines(table)
            if line.job is not None and line.job.benchmark != "scenes/retrieval"
        }
        for table in ("Table 1", "Table 2a", "Table 2b", "Table 3", "Table 4", "Table 5")
    }
    assert of_table.pop("Table 2a") == {"multi"}
    assert of_table.pop("Table 2b") == set(MIXES)
    assert set().union(*of_table.values()) == {"single"} == {AdaptConfig().mix}


def test_crepe_is_the_published_one_with_two_captions_for_an_image(data):
    """[Cola] 5.1: "we also evaluate on a contemporary dataset, CREPE [...] a model must match the correct text from two
    choices to the given image"."""
    write_gqa(data, "train", *[[("cup", "red small")], [("cup", "blue small")]] * 2)
    write_gqa(data, "val", [("cup", "red small")], [("cup", "blue small")], first=50)
    assert AdaptationTask.load("gqa", SINGLE).crepe is None
    head = "image_id,caption,x,y,width,height,hard_negs"
    for complexity in range(4, 13):
        row = f"""7,red cup {complexity},0,0,4,4,"['cup red','red red','cup cup','red','cup']\""""
        name = f"prod_hard_negatives/swap/prod_vg_hard_negs_swap_complexity_{complexity}.csv"
        write(data / "crepe" / name, f"{head}\n{row}\n")
    write(data / "crepe/VG_100K/7.jpg")
    found = AdaptationTask.load("gqa", SINGLE).crepe
    assert found.shape == (1, 2) and len(found) == 9
    assert found.groups[0].captions == ("red cup 4", "cup red") and found.groups[0].truth == (0,)


def test_multi_object_training_takes_up_to_551980_compounds():
    """[Cola] 5.3: "The Cola multi-object compounds training split has 551,980 multi-object compounds"."""
    assert COMPOUNDS == 551_980


def readme_scores(head, images, texts, mask):
    """`forward` of the class in the authors' README after CLIP's own states, line by line.

    images (n, patches, 768), texts (m, tokens, 512), mask (m, tokens), as CLIP's second-last layers give them.
    """
    n, m = len(images), len(texts)
    images, texts = head.image_in(images).repeat_interleave(m, dim=0), texts.repeat([n, 1, 1])
    out = head.transformer(torch.cat((images, texts), dim=1), head.query.repeat([n * m, 1, 1]))
    similarity = torch.bmm(out, torch.swapaxes(texts, 1, 2))
    mask = mask.repeat([n, 1])
    ends = torch.sum(mask, dim=1)
    mask[:, 0] = 0
    mask[torch.arange(len(mask)), ends - 1] = 0
    scores = torch.sum(similarity * mask.unsqueeze(1), dim=-1) / torch.sum(mask, dim=-1).unsqueeze(1)
    return torch.nan_to_num(torch.max(scores, dim=-1).values.view((n, m)))


def test_the_readmes_adapter_scores_as_the_code_there_and_has_as_many_weights_as_the_papers_text():
    torch.manual_seed(0)
    head = _ReadmeAdapterHead((768, 512, 512), AdaptConfig(adapter="readme")).eval()
    images, texts = torch.randn(2, 49, 768), torch.randn(3, 7, 512)
    with torch.no_grad():
        first = head.image(Features.of(images[:, 0], images))
        second = head.caption(Features.of(texts[:, 0], texts))
        np.testing.assert_allclose(
            head.table(first, second),
            readme_scores(head, images, texts, torch.ones(3, 7, dtype=torch.long)),
            atol=1e-4,
        )
    text = make_fusion("mdetr", 512, 2, 4)
    counts = [sum(p.numel() for p in part.parameters()) for part in (head.transformer, text)]
    assert [round((n + 768 * 512 + 512) / 1e6, 1) for n in counts] == [7.8, 7.8]


def test_the_readmes_adapter_does_not_see_padding_nor_the_frame_of_a_query():
    torch.manual_seed(0)
    head = _ReadmeAdapterHead((8, 16, 16), AdaptConfig(adapter="readme")).eval()
    texts, mask = torch.randn(1, 4, 16), torch.ones(1, 4, dtype=torch.bool)
    padded = torch.cat([texts, torch.randn(1, 2, 16)], dim=1)
    short = torch.cat([mask, torch.zeros(1, 2, dtype=torch.bool)], dim=1)
    image = head.image(Features.of(torch.zeros(1, 8), torch.randn(1, 3, 8)))
    one, other = (head.caption(Features.of(t[:, 0], t, m)) for t, m in ((texts, mask), (padded, short)))
    np.testing.assert_allclose(one.pooled.numpy(), texts[:, 1:3].mean(dim=1).numpy(), atol=1e-6)
    with torch.no_grad():
        np.testing.assert_allclose(head.table(image, one), head.table(image, other), atol=1e-5)


@pytest.mark.parametrize("name", ["builtin/clip", "builtin/siglip", "siglip", "flava"])
def test_the_readmes_adapter_averages_the_words_of_a_query_whatever_frames_them(name, tmp_path, monkeypatch):
    """SigLIP writes no BOS, and its EOS is its padding: the mask then holds the words alone, and none may go."""
    if name == "siglip":
        monkeypatch.setitem(
            _random_weights._WIDTHS,
            "base",
            {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        )
        _random_weights.build("google/siglip-base-patch16-224", tmp_path, ["red", "cube", "big"])
    source = str(build_flava(tmp_path / "flava")) if name == "flava" else str(tmp_path)
    base = load_base(name if name.startswith("builtin/") else source, "cpu")
    model = AdaptedModel.of(base, AdaptConfig(adapter="readme"))
    for query in ("red cube", "a big red cube"):
        features = model.features(model.caption_block([query]), torch.tensor([0]), "caption")
        ids = base.tokens([query])[0][: features.mask.shape[1]]
        tokens = base.tokenizer.convert_ids_to_tokens(ids.tolist())
        frame = ("<start>", "<end>", "<s>", "<pad>", "</s>", "[CLS]", "[SEP]", "[PAD]")
        words = [i for i, token in enumerate(tokens) if token not in frame]
        assert len(words) >= len(query.split()) and features.mask[0, words].all()
        pooled = model.head.caption(features).pooled[0]
        np.testing.assert_allclose(pooled.numpy(), features.tokens[0, words].mean(dim=0).numpy(), atol=1e-5)


def test_ft_late_on_flava_tunes_the_last_layers_of_its_own_multimodal_encoder(tmp_path):
    """[Cola] 6.1: "tuning the last two multimodal layers of FLAVA"; here one of two."""
    base = load_base(str(build_flava(tmp_path / "flava")), "cpu")
    model = AdaptedModel.of(base, AdaptConfig(strategy="ft-late", layers=1))
    free = {name for name, p in model.module.named_parameters() if p.requires_grad}
    assert {name.partition("layer.")[2][:1] for name in free if "multimodal" in name} == {"1"}
    assert not [name for name in free if not name.startswith("head.")]
    images, captions = build_retrieval("test", 2, seed=8).images, ["a red cube", "a small blue ball"]
    scores = score_matrix(model, images, captions)
    assert np.ptp(scores) > 0
    model.save(tmp_path / "adapted")
    assert np.array_equal(
        score_matrix(load_scorer(str(tmp_path / "adapted"), "cpu"), images, captions), scores
    )
    # What was saved when FT late put new layers on FLAVA's towers still opens.
    old = AdaptedModel.of(base, AdaptConfig(strategy="ft-late"), towers=True)
    old.save(tmp_path / "old")
    again = load_scorer(str(tmp_path / "old"), "cpu")
    assert np.array_equal(score_matrix(again, images, captions), score_matrix(old, images, captions))


def test_a_run_that_is_too_short_for_the_papers_figures_says_so_and_the_preset_makes_whole_passes(
    monkeypatch,
):
    """[Cola] 9: "The number of paired examples is 450K image-text pairs"; 8 x 150 steps of 12 are 3 % of them."""
    short = StrategyRun.of("cola/single-gqa").shortfall
    assert "3.2 % of one pass over the paper's 450,000 training pairs" in short and "--preset paper" in short
    assert "0.57 % of one pass over about 2,520,000 training pairs" in StrategyRun.of("clevr").shortfall
    assert "13 % of one pass over Visual Genome's 108,077 images" in StrategyRun.of("visual-genome").shortfall
    assert StrategyRun.of("cola/single-gqa", options=PAPER_SCALE).shortfall == ""
    assert StrategyRun.of("scenes/retrieval").shortfall == ""  # the paper prints nothing of it


def small_training(monkeypatch, mix):
    for path, value in SMALL_COLA.items():
        monkeypatch.setattr(path, value)
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", builtin_training_queries.__wrapped__)
    return builtin_training_queries.__wrapped__(mix)


def test_no_steps_are_one_pass_over_the_training_pairs(monkeypatch):
    material = small_training(monkeypatch, "hard")
    options = {"strategy": "linear", "mix": "hard", "epochs": 1, "steps": 0, "batch": 16}
    *_, last = StrategyRun.of(images=8, device="cpu", options=options).execute(final=False)
    swaps = material.kinds == "swap"
    pairs = material.links[np.flatnonzero(~swaps)].nnz + int(swaps.sum())
    assert len(last.arrays["losses"]) == ceil(pairs / 16)


def test_a_pass_draws_every_pair_once_and_the_two_of_a_swap_together(monkeypatch):
    material = small_training(monkeypatch, "hard")
    config = AdaptConfig(mix="hard", steps=0, batch=16)
    batches = list(material.batches(config, 1))
    drawn = [pair for images, queries, _ in batches for pair in zip(queries, images, strict=True)]
    links = {(q, i) for q, i in zip(*material.links.nonzero(), strict=True) if material.kinds[q] != "swap"}
    own = {(q, material.pictures[q]) for q in np.flatnonzero(material.kinds == "swap")}
    assert len(drawn) == len(set(drawn)) and set(drawn) == links | own
    assert [len(queries) for _, queries, _ in batches[:-1]] == [16] * (len(batches) - 1)
    for images, queries, labels in batches:
        assert np.array_equal(labels, material.links.toarray()[queries][:, images].T)
    order = [query for query, _ in drawn]
    for place, query in enumerate(order):
        if material.partner[query] > query:
            assert order[place + 1] == material.partner[query]
    again, other = (next(material.batches(config, epoch))[1] for epoch in (1, 2))
    assert np.array_equal(again, batches[0][1]) and not np.array_equal(other, again)


def test_what_runs_with_steps_draw_has_not_changed(monkeypatch):
    material = small_training(monkeypatch, "hard")
    config = AdaptConfig(mix="hard", steps=2, batch=6, seed=3)
    drawn = [
        (queries.tolist(), images.tolist())
        for epoch in (1, 2)
        for images, queries, _ in material.batches(config, epoch)
    ]
    assert drawn == [  # by the code that gave the published table
        ([1, 189, 190, 190, 189, 194], [0, 36, 37, 37, 36, 41]),
        ([183, 184, 194, 193, 192, 191], [30, 31, 41, 40, 39, 38]),
        ([190, 189, 56, 163, 187, 188], [37, 36, 34, 3, 34, 35]),
        ([161, 184, 183, 194, 193, 73], [19, 31, 30, 41, 40, 9]),
    ]


def test_a_base_that_is_not_here_is_said_before_any_picture_is_drawn(monkeypatch, tmp_path):
    for path, value in SMALL_COLA.items():
        monkeypatch.setattr(path, value)
    monkeypatch.setattr("core.cola.tasks.builtin_training_queries", builtin_training_queries.__wrapped__)
    drawn = []
    monkeypatch.setattr(
        AdaptationTask, "draw_ahead", lambda task, measured, report=None: drawn.append(measured)
    )
    with pytest.raises(InputError, match="no-model"):
        list(StrategyRun.of(model=str(tmp_path / "no-model"), images=8).execute())
    assert drawn == []
    next(StrategyRun.of(images=8, options={"strategy": "linear"}).execute(final=False))
    assert drawn == [False]


def test_recall_has_colas_metrics_of_a_plain_model():
    """As measuring a set's first images by hand."""
    found = first_images(load_retrieval("test"), 30)
    asked = found.relevant.any(axis=1)
    scores = score_retrieval(load_scorer("builtin/clip", "cpu"), found)[asked]
    by_hand = average_precision_score(
        found.relevant[asked][0][found.any_word[asked][0]], scores[0][found.any_word[asked][0]]
    )
    record = retrieval_record("scenes/retrieval", "test", "builtin/clip", 30)["cola"]
    whole = RetrievalEvaluation(
        scores, found.relevant[asked], found.any_word[asked], unseen=found.unseen[asked]
    )
    assert record["cola_map"]["unseen"] == whole.record()["cola_map"]["unseen"]
    assert whole.values("cola_map")[0] == pytest.approx(by_hand)
