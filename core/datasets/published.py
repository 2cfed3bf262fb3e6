"""Reference results of the papers, as data: every number of their tables, with its source, beside a user's own.

`assets/papers/results.csv` holds one row per printed number:

paper    TTM, VGPT, Cola (the three papers) or Winoground (human figures); a key of `CITATIONS`
table    "Table 1a", "Section 4.2", ...: where in the paper the number stands
dataset  benchmark, by one name across papers; `subset` is its part, "" for all of it
model    "" where the paper names none; "human" and "random" for people and chance
method   "raw", "TTM", "ITM", "MM-Adapter", ...; the paper's alpha is in it ("VisualGPTScore alpha=0")
metric   a key of `UNITS`, by the names of `core.metrics.groups.METRICS` where they apply
value    as printed; fractions are shown in percent, and `note` keeps what was printed
std      the standard deviation the paper gives, else missing
note     what a reader must know: what a gain is over, where two tables of a paper disagree
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from core.base.errors import unknown_name
from core.base.paths import assets

if TYPE_CHECKING:  # names and citations are asked for by commands that wait for no pandas
    import pandas as pd

_COLUMNS = ("paper", "table", "dataset", "subset", "model", "method", "metric", "value", "std", "note")
_NUMBERS = ("value", "std")
KEY = _COLUMNS[:7]  # no two rows share it

UNITS: dict[str, str] = {
    # METHODS 2, names of core.metrics.groups and core.metrics.evaluation
    "text_score": "percent",
    "image_score": "percent",
    "group_score": "percent",
    "group_match": "percent",
    "global_match": "percent",
    "image_to_text_r1": "percent",
    "image_to_text_r5": "percent",
    "text_to_image_r1": "percent",
    "text_to_image_r5": "percent",
    "accuracy": "percent",  # one question at a time: ImageNet classes, MMVP questions
    "image_to_text_accuracy": "percent",  # VGPT Table 5, which does not name its metric
    # TTM against what its row's note names
    "absolute_gain": "percentage points",
    "relative_gain": "percent of the base",
    "error_reduction": "percent of the base's error",
    "coverage": "percent",  # groups whose margin reaches the threshold
    # VGPT
    "alpha": "1",
    "groups": "groups",
    # Cola, METHODS 6
    "cola_map": "percent",
    "query_all_map": "percent",
    "standard_map": "percent",
    "f1": "percent",
    "mean_rank_relevant": "rank",
    "mean_rank_distractor": "rank",
    "parameters": "million",
}


@cache
def _read() -> pd.DataFrame:
    kinds = {name: float if name in _NUMBERS else str for name in _COLUMNS}
    import pandas as pd

    frame = pd.read_csv(
        assets() / "papers" / "results.csv",
        dtype=kinds,
        keep_default_na=False,
        na_values={name: [""] for name in _NUMBERS},
        float_precision="round_trip",
    )
    assert tuple(frame.columns) == _COLUMNS
    assert frame["value"].notna().all()
    assert not (frame["std"] < 0).any()
    assert not frame.duplicated(list(KEY)).any()
    assert set(frame["metric"]) <= set(UNITS)
    assert set(frame["paper"]) <= set(CITATIONS)
    return frame


def load_results() -> pd.DataFrame:
    """Every reference number, one row each; see the module for the columns.

    `value` and `std` are float64 (`std` is NaN where the paper gives none), the rest strings, never missing. The file
    is read once; the caller owns the copy it gets.
    """
    return _read().copy()


def reference(
    paper: str | None = None,
    table: str | None = None,
    dataset: str | None = None,
    model: str | None = None,
    method: str | None = None,
    metric: str | None = None,
) -> pd.DataFrame:
    """The reference numbers that match every given name exactly; the columns of `load_results`, a new index.

    A name that no row has is an InputError with the nearest known one; `table` is looked up in `paper` where that is
    given. Known names that do not occur together give an empty frame.

    >>> reference("TTM", "Table 1", "Winoground", "SigLIP-B16", "TTM", "group_match")["value"].item()
    72.5
    """
    everything = found = _read()
    wanted = {
        "paper": paper,
        "table": table,
        "dataset": dataset,
        "model": model,
        "method": method,
        "metric": metric,
    }
    for column, name in wanted.items():
        if name is None:
            continue
        known = set((found if column == "table" else everything)[column]) - {""}
        if name not in known:
            raise unknown_name(column, name, known)
        found = found[found[column] == name]
    return found.reset_index(drop=True)


# BibTeX by paper and by data set, as the three papers' reference lists state it; where TTM and Cola themselves
# appeared is from OpenReview and from Cola's project page.
CITATIONS: dict[str, str] = {
    "Crossmatch": """@software{crossmatch2026,
  title = {Crossmatch: A Workbench for Compositional Image-Text Matching},
  author = {{The Crossmatch maintainers}},
  version = {0.1.0},
  year = {2026},
  license = {Apache-2.0}
}""",
    "TTM": """@inproceedings{zhu2026ttm,
  title = {Test-Time Matching: Unlocking Compositional Reasoning in Multimodal Models},
  author = {Zhu, Yinglun and Zhang, Jiancheng and Tang, Fuzhi},
  booktitle = {International Conference on Learning Representations},
  year = {2026},
  eprint = {2510.07632},
  archiveprefix = {arXiv},
  url = {https://github.com/yinglunz/test-time-matching}
}""",
    "VGPT": """@inproceedings{lin2024visualgptscore,
  title = {Revisiting the Role of Language Priors in Vision-Language Models},
  author = {Lin, Zhiqiu and Chen, Xinyue and Pathak, Deepak and Zhang, Pengchuan and Ramanan, Deva},
  booktitle = {Proceedings of the 41st International Conference on Machine Learning},
  series = {PMLR},
  volume = {235},
  year = {2024}
}""",
    "Cola": """@inproceedings{ray2023cola,
  title = {Cola: A Benchmark for Compositional Text-to-image Retrieval},
  author = {Ray, Arijit and Radenovic, Filip and Dubey, Abhimanyu and Plummer, Bryan A. and Krishna, Ranjay
    and Saenko, Kate},
  booktitle = {Advances in Neural Information Processing Systems, Datasets and Benchmarks Track},
  year = {2023},
  eprint = {2305.03689},
  archiveprefix = {arXiv},
  url = {https://github.com/arijitray1993/COLA}
}""",
    "Winoground": """@inproceedings{thrush2022winoground,
  title = {Winoground: Probing Vision and Language Models for Visio-Linguistic Compositionality},
  author = {Thrush, Tristan and Jiang, Ryan and Bartolo, Max and Singh, Amanpreet and Williams, Adina and Kiela, Douwe
    and Ross, Candace},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  pages = {5238--5248},
  year = {2022}
}""",
    "Winoground tags": """@article{diwan2022winoground,
  title = {Why is Winoground Hard? Investigating Failures in Visuolinguistic Compositionality},
  author = {Diwan, Anuj and Berry, Layne and Choi, Eunsol and Harwath, David and Mahowald, Kyle},
  journal = {arXiv preprint arXiv:2211.00768},
  year = {2022}
}""",
    "MMVP-VLM": """@inproceedings{tong2024mmvp,
  title = {Eyes Wide Shut? Exploring the Visual Shortcomings of Multimodal LLMs},
  author = {Tong, Shengbang and Liu, Zhuang and Zhai, Yuexiang and Ma, Yi and LeCun, Yann and Xie, Saining},
  booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
  pages = {9568--9578},
  year = {2024}
}""",
    "ColorSwap": """@article{burapacheep2024colorswap,
  title = {ColorSwap: A Color and Word Order Dataset for Multimodal Evaluation},
  author = {Burapacheep, Jirayu and Gaur, Ishan and Bhatia, Agam and Thrush, Tristan},
  journal = {arXiv preprint arXiv:2402.04492},
  year = {2024}
}""",
    "SugarCrepe": """@article{hsieh2023sugarcrepe,
  title = {SugarCrepe: Fixing Hackable Benchmarks for Vision-Language Compositionality},
  author = {Hsieh, Cheng-Yu and Zhang, Jieyu and Ma, Zixian and Kembhavi, Aniruddha and Krishna, Ranjay},
  journal = {Advances in Neural Information Processing Systems},
  volume = {36},
  pages = {31096--31116},
  year = {2023}
}""",
    "WhatsUp": """@article{kamath2023whatsup,
  title = {What's ``up'' with vision-language models? Investigating their struggle with spatial reasoning},
  author = {Kamath, Amita and Hessel, Jack and Chang, Kai-Wei},
  journal = {arXiv preprint arXiv:2310.19785},
  year = {2023}
}""",
    "ARO": """@article{yuksekgonul2022aro,
  title = {When and why vision-language models behave like bags-of-words, and what to do about it?},
  author = {Yuksekgonul, Mert and Bianchi, Federico and Kalluri, Pratyusha and Jurafsky, Dan and Zou, James},
  journal = {arXiv preprint arXiv:2210.01936},
  year = {2022}
}""",
    "CREPE": """@article{ma2022crepe,
  title = {CREPE: Can Vision-Language Foundation Models Reason Compositionally?},
  author = {Ma, Zixian and Hong, Jerry and Gul, Mustafa Omer and Gandhi, Mona and Gao, Irena and Krishna, Ranjay},
  journal = {arXiv preprint arXiv:2212.07796},
  year = {2022}
}""",
    "VL-CheckList": """@article{zhao2022vlchecklist,
  title = {VL-CheckList: Evaluating pre-trained vision-language models with objects, attributes and relations},
  author = {Zhao, T. and Zhang, T. and Zhu, M. and Shen, H. and Lee, K. and Lu, X. and Yin, J.},
  journal = {arXiv preprint arXiv:2207.00221},
  year = {2022}
}""",
    "EqBen": """@article{wang2023eqben,
  title = {Equivariant Similarity for Vision-Language Foundation Models},
  author = {Wang, T. and Lin, K. and Li, L. and Lin, C.-C. and Yang, Z. and Zhang, H. and Liu, Z. and Wang, L.},
  journal = {arXiv preprint arXiv:2303.14465},
  year = {2023}
}""",
    "COCO": """@inproceedings{lin2014coco,
  title = {Microsoft COCO: Common Objects in Context},
  author = {Lin, T.-Y. and Maire, M. and Belongie, S. and Hays, J. and Perona, P. and Ramanan, D. and Doll{\\'a}r, P.
    and Zitnick, C. L.},
  booktitle = {European Conference on Computer Vision},
  pages = {740--755},
  year = {2014}
}""",
    "Flickr30k": """@article{young2014flickr30k,
  title = {From image descriptions to visual denotations: New similarity metrics for semantic inference over event
    descriptions},
  author = {Young, P. and Lai, A. and Hodosh, M. and Hockenmaier, J.},
  journal = {Transactions of the Association for Computational Linguistics},
  volume = {2},
  pages = {67--78},
  year = {2014}
}""",
    "ImageNet1K": """@inproceedings{deng2009imagenet,
  title = {ImageNet: A large-scale hierarchical image database},
  author = {Deng, J. and Dong, W. and Socher, R. and Li, L.-J. and Li, K. and Fei-Fei, L.},
  booktitle = {IEEE Conference on Computer Vision and Pattern Recognition},
  pages = {248--255},
  year = {2009}
}""",
    "LAION114M": """@article{schuhmann2021laion,
  title = {LAION-400M: Open Dataset of CLIP-Filtered 400 Million Image-Text Pairs},
  author = {Schuhmann, C. and Vencu, R. and Beaumont, R. and Kaczmarczyk, R. and Mullis, C. and Katta, A. and
    Coombes, T. and Jitsev, J. and Komatsuzaki, A.},
  journal = {arXiv preprint arXiv:2111.02114},
  year = {2021}
}""",
    "GQA": """@article{hudson2019gqa,
  title = {GQA: A New Dataset for Real-World Visual Reasoning and Compositional Question Answering},
  author = {Hudson, Drew A. and Manning, Christopher D.},
  journal = {arXiv preprint arXiv:1902.09506},
  year = {2019}
}""",
    "CLEVR": """@article{johnson2016clevr,
  title = {CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual Reasoning},
  author = {Johnson, Justin and Hariharan, Bharath and van der Maaten, Laurens and Fei-Fei, Li and Zitnick, C. Lawrence
    and Girshick, Ross},
  journal = {arXiv preprint arXiv:1612.06890},
  year = {2016}
}""",
    "PACO": """@article{ramanathan2023paco,
  title = {PACO: Parts and Attributes of Common Objects},
  author = {Ramanathan, Vignesh and Kalia, Anmol and Petrovic, Vladan and Wen, Yi and Zheng, Baixue and Guo, Baishan
    and Wang, Rui and Marquez, Aaron and Kovvuri, Rama and Kadian, Abhishek and Mousavi, Amir and Song, Yiwu and
    Dubey, Abhimanyu and Mahajan, Dhruv},
  journal = {arXiv preprint arXiv:2301.01795},
  year = {2023}
}""",
    "Visual Genome": """@article{krishna2017visualgenome,
  title = {Visual Genome: Connecting Language and Vision Using Crowdsourced Dense Image Annotations},
  author = {Krishna, Ranjay and Zhu, Yuke and Groth, Oliver and Johnson, Justin and Hata, Kenji and Kravitz, Joshua and
    Chen, Stephanie and Kalantidis, Yannis and Li, Li-Jia and Shamma, David A. and Bernstein, Michael S. and
    Fei-Fei, Li},
  journal = {International Journal of Computer Vision},
  volume = {123},
  number = {1},
  pages = {32--73},
  year = {2017}
}""",
}
