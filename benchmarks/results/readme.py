"""README's tables, which studies write: each lies between two comments that name it."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def put_table(name: str, table: str) -> None:
    """Replace what is between `<!-- NAME: begin -->` and `<!-- NAME: end -->`; raises ValueError where they are not."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = README.read_text(encoding="utf-8").split(begin)
    _, after = rest.split(end)
    README.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
