"""BLA: an image and four sentences of one construction (voice, coordination, relative clause), two of them true.

Layout: `annotations/<part>_captions.json` and `images/<image_id>.jpg` of the archive that github.com/shin-ee-chen/BLA
links, a list of `{"image_id", "caption_group": [{"True1", "True2", "False1", "False2"}]}` as its evaluation code reads
it. The counts are those that its notebooks print.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from core.datasets._file_reading import DatasetFolder, caption
from core.datasets.base import Benchmark
from core.groups import Group

# Part -> file, number of groups, title.
_PARTS = {
    "active-passive": ("active_passive_captions", 613, "Active-Passive Voice"),
    "coordination": ("coordination_captions", 654, "Coordination"),
    "relative-clause": ("relative_clause_captions", 672, "Relative Clause"),
}
# The archive's own folder is written in three ways upstream: its name, its README and its evaluation code.
_FOLDERS = ("", "BLA_benchmark/", "BLA_Benchmark/", "bla_benchmark/")
_IMAGES = " | ".join(f"{folder}images" for folder in _FOLDERS)


def _read(folder: DatasetFolder, split: str, *, part: str) -> Iterator[Group]:
    """Groups of one image and four captions, of which the first two are true."""
    image = folder.images(_IMAGES)
    with folder.json(_file(part), "a part of BLA") as rows:
        for i, row in enumerate(rows):
            (texts,) = row["caption_group"]
            captions = tuple(caption(texts[name]) for name in ("True1", "True2", "False1", "False2"))
            yield Group(f"bla-{part}-{i}", (image(f"{row['image_id']}.jpg"),), captions, (0, 1))


def _file(part: str) -> str:
    return " | ".join(f"{folder}annotations/{_PARTS[part][0]}.json" for folder in _FOLDERS)


def _benchmark(part: str) -> Benchmark:
    _, count, title = _PARTS[part]
    return Benchmark(
        name=f"bla/{part}",
        title=f"BLA: {title}",
        source="https://github.com/shin-ee-chen/BLA",
        licence="MIT (upstream's repository); images: Visual Genome, CC BY 4.0",
        citation="BLA",
        metric="text_score",
        read=partial(_read, part=part),
        layout=(_file(part), _IMAGES),
        shape=(1, 4),
        counts={"test": (count,)},
        note="That both true sentences rank above both false ones is TextScore; a coin reaches 1/6. The paper asks "
        "generative models for a yes or no to each sentence besides. None of the three papers reports it.",
    )


BENCHMARKS = tuple(_benchmark(part) for part in _PARTS)
