"""Cola's builders from scene graphs: by hand, against brute force, and against the built-in world's own rules."""

import json

import numpy as np
import pytest

from core.base.errors import InputError
from core.cola._queries import (
    AttributedNoun,
    Query,
    SceneGraphIndex,
    _holds,
    combination_of,
    compound_queries,
    crepe_set,
    hard_lists,
    hold_out_queries,
    multi_object_items,
    multi_object_set,
    pair_queries,
    parse_combination,
    relevance_links,
    retrieval_set,
    scene_graphs,
    single_queries,
    swap_attributes,
    unseen_mask,
)
from core.datasets import load_graphs
from core.datasets.graphs import read_regions
from core.datasets.sets import GraphSet, Relation, SceneGraph, SceneObject
from core.groups import BytesImage
from core.scenes.retrieval import build_retrieval


def graph(name, *things, relations=()):
    objects = tuple(
        SceneObject(str(i), (noun,), tuple(said), (0, 0, 1, 1)) for i, (noun, *said) in enumerate(things)
    )
    told = tuple(Relation(str(a), word, str(b)) for a, word, b in relations)
    return SceneGraph(name, BytesImage(name.encode()), objects, told)


GRAPHS = (
    graph("a", ("plate", "square", "white"), ("table", "brown", "wooden"), relations=[(0, "on", 1)]),
    graph("b", ("plate", "round", "white"), ("table", "square"), relations=[(0, "on", 1)]),
    graph("c", ("plate", "brown"), ("table", "white"), relations=[(0, "on", 1)]),
    graph("d", ("plate", "white"), ("table", "brown"), relations=[(1, "under", 0)]),
    graph("e", ("sky", "blue")),
)
SET = GraphSet("kitchen", "test", GRAPHS)
PLATE = Query("square white plate", (AttributedNoun("plate", ("square", "white")),))


def dense(queries, graphs):
    mask = np.zeros((len(queries), len(graphs)), dtype=bool)
    links = relevance_links(queries, SceneGraphIndex(graphs))
    mask[links[:, 0], links[:, 1]] = True
    return mask


def test_an_image_is_right_where_one_object_is_all_of_the_query():
    assert dense([PLATE], GRAPHS).tolist() == [[True, False, False, False, False]]


def test_the_hard_list_has_any_of_the_words_and_the_harder_one_all_of_them():
    some, everything = hard_lists([PLATE], SceneGraphIndex(GRAPHS))
    assert some.tolist() == [[True, True, True, True, False]]
    assert everything.tolist() == [[True, True, False, False, False]]  # b has them wrongly attached


def test_queries_name_several_attributes_of_one_object_most_frequent_first():
    texts = [query.text for query in single_queries((*GRAPHS, GRAPHS[0]))]
    assert texts == ["square white plate", "brown wooden table", "round white plate"]
    assert [q.text for q in single_queries((*GRAPHS, GRAPHS[0]), least_images=2)] == texts[:2]
    assert [q.text for q in single_queries(GRAPHS, (1, 1), most=2)] == ["white plate", "brown table"]


def test_a_combination_is_unseen_if_no_training_object_has_all_of_it():
    training = SceneGraphIndex(
        [graph("t", ("plate", "square", "white", "old")), graph("u", ("bowl", "round", "white"))]
    )
    asked = [PLATE, Query("round white plate", (AttributedNoun("plate", ("round", "white")),))]
    assert unseen_mask(asked, training).tolist() == [False, True]


def test_what_training_holds_least_is_held_out_with_its_images():
    training = [
        *GRAPHS[:2],
        graph("f", ("plate", "square", "white")),
        graph("g", ("plate", "square", "white")),
    ]
    asked = [PLATE, Query("round white plate", (AttributedNoun("plate", ("round", "white")),))]
    mask, kept = hold_out_queries(asked, training, 1)
    assert mask.tolist() == [False, True]
    assert [g.id for g in kept] == ["a", "f", "g"]
    with pytest.raises(InputError, match="held out"):
        hold_out_queries(asked, training, 3)


def test_a_pair_query_needs_two_nouns_and_two_attributes_that_differ():
    assert [q.text for q in pair_queries(GRAPHS[2])] == ["brown plate on white table"]
    same = graph("s", ("cup", "red"), ("cup", "blue"), relations=[(0, "near", 1)])
    alike = graph("s", ("cup", "red"), ("pot", "red"), relations=[(0, "near", 1)])
    assert pair_queries(same) == pair_queries(alike) == []
    assert [q.text for q in pair_queries(GRAPHS[2], relations=False)] == ["brown plate and white table"]


def test_a_relation_must_hold_between_the_objects_that_are_named():
    query = pair_queries(GRAPHS[2])[0]
    both = graph("x", ("plate", "brown"), ("table", "white"), ("plate", "red"), relations=[(2, "on", 1)])
    assert dense([query], [GRAPHS[2], both]).tolist() == [[True, False]]


def test_two_phrases_need_two_objects():
    query = Query("a white plate and a plate", (AttributedNoun("plate", ("white",)), AttributedNoun("plate")))
    two = graph("y", ("plate", "white"), ("plate", "red"))
    assert dense([query], [GRAPHS[0], two]).tolist() == [[False, True]]


def test_a_multi_object_query_names_all_attributes_of_both_objects():
    texts = [q.text for q in compound_queries(GRAPHS[0])]
    assert texts == ["square white plate on brown wooden table"]
    alike = graph(
        "s", ("cup", "red"), ("cup", "blue"), ("pot", "red"), relations=[(0, "near", 1), (0, "near", 2)]
    )
    assert [q.text for q in compound_queries(alike)] == [
        "red cup near blue cup"
    ]  # "red" twice tells nothing apart
    assert compound_queries(graph("t", ("cup", "red"), ("pot",), relations=[(0, "near", 1)])) == []


def test_a_and_b_is_the_query_b_and_a():
    one, other = (
        graph("s", *things)
        for things in ((("cup", "red"), ("pot", "blue")), (("pot", "blue"), ("cup", "red")))
    )
    assert compound_queries(one, False) == compound_queries(other, False)
    assert [q.text for q in compound_queries(one, False)] == ["blue pot and red cup"]


def test_a_multi_object_item_exchanges_attributes_and_each_caption_is_true_of_its_own_image_alone():
    (item,) = multi_object_items(
        SET
    )  # c with a or with d, whose relation is another; each query is in one item
    texts = {item[1].text, item[3].text}
    assert "brown plate on white table" in texts
    assert texts & {"square white plate on brown wooden table", "brown table under white plate"}
    right = dense([item[1], item[3]], GRAPHS)[:, [item[0], item[2]]]
    assert right.tolist() == [[True, False], [False, True]]


def test_the_published_items_could_come_from_the_builder():
    """Two of the file: another relation in another order, and one noun twice, each with further attributes."""
    published = [
        graph(
            "w",
            ("building", "large", "white"),
            ("sky", "blue", "cloudy"),
            relations=[(0, "to the right of", 1)],
        ),
        graph(
            "x",
            ("sky", "white", "cloudy"),
            ("building", "blue", "large", "tall"),
            relations=[(0, "to the left of", 1)],
        ),
        graph("y", ("tree", "large"), ("tree", "little", "green"), relations=[(0, "to the right of", 1)]),
        graph(
            "z", ("tree", "tall", "green"), ("tree", "large", "tall"), relations=[(0, "to the right of", 1)]
        ),
    ]
    items = multi_object_items(GraphSet("published", "test", tuple(published)))
    assert {frozenset((a, b)) for a, _, b, _ in items} == {frozenset((0, 1)), frozenset((2, 3))}


def test_what_holds_in_one_graph_is_what_the_index_says_of_all():
    scenes = build_retrieval("test", 40, seed=4)
    graphs = scene_graphs("scenes", "test", [image.scene for image in scenes.images]).graphs
    index = SceneGraphIndex(graphs)
    asked = [q for g in graphs[:12] for relations in (True, False) for q in compound_queries(g, relations)]
    assert len(asked) > 20
    words = [AttributedNoun(None, (word,)) for word in ("red", "blue", "large", "metal")]
    words += [AttributedNoun("sphere"), AttributedNoun("cube", ("red",))]
    asked += [Query("one thing may be both", (a, b)) for a in words for b in words]
    for query in asked:
        assert [n for n, g in enumerate(graphs) if _holds(query, g)] == index.right(query).tolist()


def test_multi_object_groups_do_not_always_store_the_true_caption_first():
    scenes = build_retrieval("test", 120, seed=3)
    graphs = scene_graphs("scenes", "test", [image.scene for image in scenes.images])
    found = multi_object_set(graphs, 60, relations=False)
    assert len(found) == 60
    assert 15 < sum(g.truth == (0, 1) for g in found) < 45
    crepe = crepe_set(graphs, 60, relations=False)
    assert set(crepe.shapes) == {(1, 2)}
    assert 15 < sum(g.truth == (0,) for g in crepe) < 45


def test_a_crepe_pair_has_a_true_caption_and_one_of_the_same_words_that_is_false():
    found = crepe_set(SET)
    for group in found:
        (n,) = [i for i, g in enumerate(GRAPHS) if g.image.key == group.images[0].key]
        asked = [q for q in pair_queries(GRAPHS[n]) if q.text in group.captions]
        assert asked[0].text == group.captions[group.truth[0]]
        assert sorted(group.captions[0].split()) == sorted(group.captions[1].split())
        assert not dense([swap_attributes(asked[0])], [GRAPHS[n]]).any()


def test_the_same_seed_gives_the_same_items_and_another_one_another_order():
    scenes = build_retrieval("test", 80, seed=3)
    graphs = scene_graphs("scenes", "test", [image.scene for image in scenes.images])
    one, again, other = (multi_object_items(graphs, 20, seed, relations=False) for seed in (0, 0, 1))
    assert one == again != other


def test_the_builders_agree_with_the_built_in_worlds_own_relevance():
    """Two ways to the same lists: vectorised matches of objects, and postings of words."""
    world = build_retrieval("test", 60, seed=5)
    graphs = scene_graphs("scenes", "test", [image.scene for image in world.images])
    queries = [Query(t, (combination_of(p),)) for t, p in zip(world.queries, world.phrases, strict=True)]
    found = retrieval_set("again", "test", graphs, queries)
    np.testing.assert_array_equal(found.relevant, world.relevant)
    np.testing.assert_array_equal(found.any_word, world.any_word)
    np.testing.assert_array_equal(found.all_words, world.all_words)
    np.testing.assert_array_equal(found.attributes, world.attributes)


def test_held_out_combinations_are_what_no_training_scene_has():
    world, train = build_retrieval("test", 10), build_retrieval("train", 1200)
    graphs = scene_graphs("scenes", "train", [image.scene for image in train.images])
    queries = [Query(t, (combination_of(p),)) for t, p in zip(world.queries, world.phrases, strict=True)]
    np.testing.assert_array_equal(unseen_mask(queries, SceneGraphIndex(graphs.graphs)), world.unseen)


def test_a_published_query_is_read_back_longest_noun_first():
    words = (["plate", "cell phone", "phone"], ["square", "white", "light blue"])
    assert parse_combination("square white plate", *words) == AttributedNoun("plate", ("square", "white"))
    assert parse_combination("light blue cell phone", *words) == AttributedNoun("cell phone", ("light blue",))
    assert parse_combination("cell phone", *words) == AttributedNoun("cell phone", ())
    assert parse_combination("purple plate", *words) is None
    assert parse_combination("white", *words) is None


# --- layouts


def read_graphs(name, folder, split):
    return load_graphs(name, split, folder, images=False, partial=True)


def test_clevr_scenes_are_read_with_relations_the_right_way_round(tmp_path):
    things = [
        {
            "shape": "cube",
            "color": "red",
            "material": "metal",
            "size": "large",
            "pixel_coords": [10.5, 20, 9],
        },
        {
            "shape": "sphere",
            "color": "blue",
            "material": "rubber",
            "size": "small",
            "pixel_coords": [90, 20, 9],
        },
    ]
    sides = {"left": [[], [0]], "right": [[1], []]}  # the cube is left of the sphere
    scene = {"image_filename": "CLEVR_val_000000.png", "objects": things, "relationships": sides}
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes/CLEVR_val_scenes.json").write_text(json.dumps({"scenes": [scene]}))
    found = read_graphs("clevr", tmp_path, "validation")
    assert [q.text for q in single_queries(found.graphs, (3, 3))] == [
        "red large metal cube",
        "blue small rubber sphere",
    ]
    told = {(r.subject, r.predicate, r.object) for r in found.graphs[0].relations}
    assert told == {("0", "left of", "1"), ("1", "right of", "0")}


def test_pacos_objects_are_read_without_their_parts(tmp_path):
    value = {
        "images": [
            {"id": 7, "file_name": "val2017/000007.jpg"},
            {"id": 8, "file_name": "val2017/000008.jpg"},
        ],
        "categories": [{"id": 1, "name": "trash_can"}, {"id": 2, "name": "trash_can:lid"}],
        "attributes": [{"id": 3, "name": "black"}, {"id": 4, "name": "plastic"}],
        "annotations": [
            {
                "id": 5,
                "obj_ann_id": 5,
                "image_id": 7,
                "category_id": 1,
                "attribute_ids": [3, 4],
                "bbox": [1, 2, 3, 4],
            },
            {
                "id": 6,
                "obj_ann_id": 5,
                "image_id": 7,
                "category_id": 2,
                "attribute_ids": [3],
                "bbox": [1, 2, 3, 4],
            },
        ],
    }
    (tmp_path / "paco_lvis_v1_test.json").write_text(json.dumps(value))
    found = read_graphs("paco", tmp_path, "test")
    assert [g.id for g in found.graphs] == ["paco-7"]
    assert [(o.names, o.attributes) for o in found.graphs[0].objects] == [
        (("trash can",), ("black", "plastic"))
    ]


@pytest.mark.parametrize("name", ["clevr", "paco"])
def test_a_damaged_file_is_one_sentence(tmp_path, name):
    for file in ("CLEVR_val_scenes.json", "paco_lvis_v1_val.json"):
        (tmp_path / file).write_text('{"scenes": [{}], "images": [1]}')
    with pytest.raises(InputError, match=r"is not .*damaged"):
        read_graphs(name, tmp_path, "validation")


def test_region_captions_find_their_graphs(tmp_path):
    graphs = GraphSet("gqa", "train", (graph("gqa-12", ("sky", "blue")), graph("gqa-13", ("sky", "grey"))))
    assert read_regions(tmp_path, graphs) == []
    regions = [{"id": 13, "regions": [{"phrase": "a grey sky"}]}, {"id": 99, "regions": [{"phrase": "no"}]}]
    (tmp_path / "region_descriptions.json").write_text(json.dumps(regions))
    assert read_regions(tmp_path, graphs) == [(1, "a grey sky")]
