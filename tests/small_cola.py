"""The world of Cola's strategies in miniature, a whole run in a second: path of a constant -> its value here."""

SMALL_COLA = {
    **{
        f"core.cola._training_data.{name}": value
        for name, value in (("IMAGES", 30), ("TWINS", 6), ("WORDINGS", 1), ("TEXTS", 12))
    },
    "core.cola.tasks._CURVE_IMAGES": 10,
    "core.cola.tasks._CURVE_STEP": 40,
    "core.cola.tasks._PAIRS": 10,
}
