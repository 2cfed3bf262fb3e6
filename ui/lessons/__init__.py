"""The lessons, in order."""

from ui.lessons import alpha, binding, blind, chance, ladder, ledger, matrix, pseudolabels, transfer
from ui.lessons.elements import SET, Lesson

LESSONS = {
    "matrix": Lesson(
        "Two metrics, one matrix", 5, "How can a model be hopeless and capable at once?", matrix.show
    ),
    "chance": Lesson(
        "What luck gets you", 5, "What does an accuracy mean without its chance level?", chance.show, (SET, 2)
    ),
    "blind": Lesson(
        "Solved without the image",
        5,
        "Does this benchmark test vision at all?",
        blind.show,
        (blind.ORDER, 0),
        True,
    ),
    "alpha": Lesson(
        "Removing the language prior",
        8,
        "What does α change, and what can it not change?",
        alpha.show,
        (alpha.SET, 1),
    ),
    "pseudo": Lesson(
        "Learning from its own matchings",
        8,
        "Which of its own matchings should a model trust?",
        pseudolabels.show,
        (SET, 8),
    ),
    "transfer": Lesson(
        "Memory or skill", 8, "What is left of the gain on groups it never saw?", transfer.show, (SET, 4)
    ),
    "ledger": Lesson(
        "Where does the gain come from?",
        8,
        "What of a gain is knowledge, and what is the metric?",
        ledger.show,
        (ledger.SET, 11),
    ),
    "binding": Lesson(
        "Whose colour is it?",
        8,
        "Why is “red cube, blue ball” hard, and what fixes it?",
        binding.show,
        (binding.PAIR, 11),
    ),
    "ladder": Lesson(
        "Where is the binding lost?",
        8,
        "Tokens, pooling, alignment or metric: which step forgets whose colour it was?",
        ladder.show,
        (ladder.SET, 13),
    ),
}

__all__ = ["LESSONS", "Lesson"]
