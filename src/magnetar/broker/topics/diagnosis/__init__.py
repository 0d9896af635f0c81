"""Why a subscription does not move: what is seen of it, and the rules that say why."""
