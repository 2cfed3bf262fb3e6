"""The transfer check: adapt on a share of the groups, measure on those and on the untouched rest apart.

Groups that share an image, directly or through others, stay on one side: an image that was trained on is not untouched.
Never sees which matchings are right.
"""

from __future__ import annotations

import numpy as np

from core.base.errors import InputError
from core.groups import GroupSet


def adapted_pool(groups: GroupSet, share: float, seed: int = 0) -> np.ndarray:
    """Which groups may be trained on, bool (n,): about `share` of them, drawn at random.

    share : above 0, below 1. The nearest count that whole families of groups (those that share images) allow, never
    exceeding it by a family of half or more of its size; both sides get one group at least.
    Raises InputError where no such split exists.
    """
    if not 0 < share < 1:
        raise InputError(f"A share of {share} leaves no part to compare with; choose one between 0 and 1.")
    family = _families(groups)
    sizes = np.bincount(family)
    if len(sizes) < 2:
        raise InputError(
            f"All groups of {groups.name} share images, so no part of them would be untouched; adapt on all of them."
        )
    order = np.random.default_rng(seed).permutation(len(sizes))
    reached = np.cumsum(sizes[order])
    # The number of families, one at least and not all, that comes nearest to the share.
    count = 1 + int(np.abs(reached[:-1] - share * len(groups)).argmin())
    return np.isin(family, order[:count])


def _families(groups: GroupSet) -> np.ndarray:
    """A number from 0 for every group, int (n,): the same where groups share an image, directly or through others."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    _, images = groups.unique_images()  # (n, m)
    n, m = images.shape
    rows = np.repeat(np.arange(n), m)
    total = n + int(images.max()) + 1  # groups, then images, as the nodes of a graph
    edges = coo_matrix((np.ones(n * m), (rows, n + images.ravel())), shape=(total, total))
    return np.unique(connected_components(edges, directed=False)[1][:n], return_inverse=True)[1]
