"""Who is served what of a topic: subscriptions, their consumers, and the loop that delivers."""
