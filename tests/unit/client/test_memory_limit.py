from magnetar.client.memory_limit import MemoryLimit


def test_it_is_full_at_its_limit_and_takes_a_message_of_any_size_before():
    memory = MemoryLimit(10)
    memory.used_bytes += 9
    assert not memory.full
    memory.used_bytes += 100
    assert memory.full
    assert memory.used_bytes == 109
    memory.release(99)
    assert memory.full
    memory.release(1)
    assert not memory.full


def test_who_waits_is_woken_once_when_there_is_room():
    memory = MemoryLimit(10)
    memory.used_bytes += 20
    woken = []
    wakes = [lambda name=name: woken.append(name) for name in "abc"]
    for wake in (*wakes, wakes[0]):
        memory.when_free(wake)
    memory.release(10)
    assert woken == []
    memory.release(1)
    memory.release(1)
    assert woken == ["a", "b", "c"]
