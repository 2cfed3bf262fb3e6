"""The pages of the app, in the order of the navigation: file, name and icon; a new page is a line here."""

PAGES = {
    "app.py": ("Home", ":material/home:"),
    "pages/0_Lessons.py": ("Lessons", ":material/school:"),
    "pages/1_Groups.py": ("Groups", ":material/grid_view:"),
    "pages/10_Audit.py": ("Audit", ":material/fact_check:"),
    "pages/2_Matching.py": ("Matching", ":material/join_inner:"),
    "pages/11_Ladder.py": ("Ladder", ":material/stairs:"),
    "pages/3_Debias.py": ("Debias", ":material/balance:"),
    "pages/4_Test-Time_Matching.py": ("Test-time matching", ":material/trending_up:"),
    "pages/5_Retrieval.py": ("Retrieval", ":material/image_search:"),
    "pages/6_Compare.py": ("Compare", ":material/compare:"),
    "pages/7_Papers.py": ("Papers", ":material/article:"),
    "pages/8_Your_Data.py": ("Your data", ":material/add_photo_alternate:"),
    "pages/9_Runs.py": ("Runs", ":material/list_alt:"),
}
# The views of Debias and of Retrieval, as page and address have them (`ui.old_links` has what they were called before);
# each page leaves the other's where one came along in the address.
DEBIAS_VIEWS = (
    "Move alpha",
    "Language prior",
    "Without the image",
    "Word by word",
    "Images needed",
    "Among all captions",
    "Training set",
)
ASK, CHANGES, TRAIN = RETRIEVAL_VIEWS = ("Ask for pictures", "What training changes", "Train a model")
WITH_SELECTION = (  # pages that show it
    "pages/1_Groups.py",
    "pages/10_Audit.py",
    "pages/2_Matching.py",
    "pages/11_Ladder.py",
    "pages/3_Debias.py",
    "pages/4_Test-Time_Matching.py",
    "pages/6_Compare.py",
)
NO_PAGE = "no_page"  # in Home's address: the name of a page that was asked for and is not there
