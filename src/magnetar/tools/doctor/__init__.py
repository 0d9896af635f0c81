"""``magnetar doctor``: what keeps a broker from running well, each with its remedy."""
