from magnetar.model.schemas import SchemaAutoUpdate, SchemaCompatibilityStrategy


def test_a_strategy_says_who_must_read_what():
    promises = {
        each.name: (each.new_reads_old, each.old_reads_new, each.transitive)
        for each in SchemaCompatibilityStrategy
    }
    assert promises == {
        "ALWAYS_INCOMPATIBLE": (False, False, False),
        "ALWAYS_COMPATIBLE": (False, False, False),
        "BACKWARD": (True, False, False),
        "FORWARD": (False, True, False),
        "FULL": (True, True, False),
        "BACKWARD_TRANSITIVE": (True, False, True),
        "FORWARD_TRANSITIVE": (False, True, True),
        "FULL_TRANSITIVE": (True, True, True),
    }


def test_the_older_words_stand_for_strategies():
    found = {str(each): str(each.strategy) for each in SchemaAutoUpdate}
    assert found["AutoUpdateDisabled"] == "ALWAYS_INCOMPATIBLE"
    assert found["Full"] == "FULL"
    assert found["BackwardTransitive"] == "BACKWARD_TRANSITIVE"
    assert len(found) == 8
