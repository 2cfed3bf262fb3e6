"""A second opinion on results that others have computed: read as their tools wrote them, judged by this house's rules.

| file | one job |
| --- | --- |
| `_submission.py` | what one system did on one benchmark, as files tell it |
| `_reading.py` | files, folders and uploads: which tool wrote what, and what belongs together |
| `_mteb.py`, `_logs.py`, `_inspect.py`, `_vlmeval.py` | results of each item by tool; `_logs.py`: lm-eval, lmms-eval |
| `_answers.py` | answers in words or letters as numbers of choices |
| `_reports.py` | results that are numbers alone: CLIP_benchmark, a paper's table, and what `_results.py` writes |
| `_results.py` | results of ours as others read them: Every Eval Ever, `.eval_results`, MTEB, model-index |
| `_judging.py` | metrics, groups, ties, chance, intervals, paired tests, and what the report got wrong |

Nothing in a file is run, and pickles are never loaded.
"""

from core.rejudge._judging import rejudge as rejudge
from core.rejudge._results import write_results as write_results
