"""The split of a transfer check: seeded, near the share, and never through groups that share an image."""

import numpy as np
import pytest
from worlds import world

from core.base.errors import InputError
from core.datasets.embeddings import RowImage
from core.groups import Group, GroupSet
from core.ttm.transfer import _families, adapted_pool


def groups_of(*images):
    """1x2 groups or larger by the names of their images."""
    captions = [f"caption {i}" for i in range(1, 5)]
    return GroupSet(
        "shared",
        tuple(
            Group(str(i), tuple(RowImage(key) for key in keys), tuple(captions))
            for i, keys in enumerate(images)
        ),
    )


@pytest.mark.parametrize("share", [0.1, 0.5, 0.75])
def test_the_share_is_kept_exactly_where_no_images_are_shared(share):
    _, groups = world(40)
    assert adapted_pool(groups, share).sum() == round(40 * share)


def test_a_seed_decides_the_split_and_the_truth_does_not():
    _, groups = world(40)
    pools = [adapted_pool(groups, 0.5, seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(pools[0], pools[1])
    assert (pools[0] != pools[2]).any()
    for other in (groups.blind(), groups.permute_captions(1)):
        np.testing.assert_array_equal(adapted_pool(other, 0.5), pools[0])


def test_groups_that_share_images_are_one_family():
    groups = groups_of("ab", "bc", "de", "fg", "ga", "hi")  # ab-bc-ga-fg hang together
    assert _families(groups).tolist() == [0, 0, 1, 0, 0, 2]


def test_no_family_is_on_both_sides_and_neither_side_is_empty():
    groups = groups_of("ab", "bc", "de", "fg", "ga", "hi")
    family = _families(groups)
    for seed in range(10):
        for share in (0.01, 0.5, 0.99):
            pool = adapted_pool(groups, share, seed)
            assert 0 < pool.sum() < 6
            assert all(len(set(pool[family == f].tolist())) == 1 for f in range(3))


def test_the_nearest_count_is_taken():
    groups = groups_of("ab", "cd", "ef", "gh", "ij", "kl", "ij", "kl")  # families of 1, 1, 1, 1, 2 and 2
    assert {int(adapted_pool(groups, 0.5, seed).sum()) for seed in range(20)} <= {3, 4, 5}


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_a_share_that_leaves_a_side_empty_is_one_sentence(share):
    with pytest.raises(InputError, match="choose one between 0 and 1"):
        adapted_pool(world(5)[1], share)


def test_groups_that_all_hang_together_cannot_be_split():
    with pytest.raises(InputError, match="All groups of shared share images"):
        adapted_pool(groups_of("ab", "bc", "ca"), 0.5)
