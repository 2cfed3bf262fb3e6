"""Settings that people type, checked by pydantic as they are made: the first mistake is one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError

from core.base.errors import InputError, _requirement, unknown_name

Count = Annotated[int, Field(ge=1)]
LARGEST_SEED = 2**63 - 1  # what every generator of random numbers takes
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]
Names = Annotated[tuple[str, ...], Strict(False)]  # a list, as JSON and YAML have it, is one too


class Settings(BaseModel):
    """Named values that never change. Making one raises InputError for an unknown name (with the nearest known one) and
    for a value of another type or out of range; nothing is converted but whole numbers to floats and lists to tuples.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    if not TYPE_CHECKING:  # type checkers know the fields

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _sentence(error, type(self).model_fields) from None

    def updated(self, values: Mapping[str, Any]) -> Self:
        """These values in place of mine; None leaves one as it is."""
        given = {str(name): value for name, value in values.items() if value is not None}
        return type(self)(**{**self.to_dict(), **given})

    def to_dict(self) -> dict[str, Any]:
        """Every value, ready for JSON."""
        return self.model_dump(mode="json")

    def changed(self) -> dict[str, Any]:
        """The values that differ from their defaults, ready for JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)


def one_of(kind: str, known: Iterable[str]) -> AfterValidator:
    """Checks that a name is a known one; `kind` is what errors call it."""

    def check(name: str) -> str:
        if name not in known:
            raise unknown_name(kind, name, known)
        return name

    return AfterValidator(check)


def _sentence(error: ValidationError, known: Iterable[str]) -> InputError:
    """One of pydantic's findings: what, where, what to do. A name that nobody knows may be why another is missing."""
    findings = error.errors(include_url=False)
    first = next((each for each in findings if each["type"] == "extra_forbidden"), findings[0])
    name, own = ".".join(map(str, first["loc"])), first.get("ctx", {}).get("error")
    if isinstance(own, InputError):  # a validator's own sentence
        return own
    if first["type"] == "extra_forbidden":
        return unknown_name("setting", name, known)
    if first["type"] == "missing":
        return InputError(f"The setting {name} is missing; give it.")
    wanted = _requirement(first["msg"])
    if wanted == first["msg"]:
        return InputError(f"The setting {name} is wrong ({wanted}); change it.")
    return InputError(f"The setting {name} is {first['input']!r}; it must be {wanted}.")
