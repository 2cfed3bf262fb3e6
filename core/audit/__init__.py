"""Is a benchmark sound, before anybody trusts a number on it? `Audit.of(groups)` says.

| file | one job |
| --- | --- |
| `_audit.py` | all findings of a set: corrected together, as text, as JSON, as a page |
| `_rules.py` | rules that find the right caption without looking: by place, length, words, blind models |
| `_sequence.py` | answers that the answers before them foretell |
| `_words.py` | what the words of a caption are |
| `_near_images.py` | which images are copies of each other |
| `_facts.py` | what is in the set: equal words, duplicates, contradictions, shared images, its size |
"""

from core.audit._audit import Audit
from core.audit._rules import Finding

__all__ = ["Audit", "Finding"]
