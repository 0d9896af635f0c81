"""bookies"""

BEFORE = {}
DIFFERENCES = {
    "all": "there are no bookies: the broker stores by itself",
}
