from magnetar.client.interception import Interception


class Appends:
    def __init__(self, letter, *, fails=False, returns=None):
        self.letter, self.fails, self.returns = letter, fails, returns

    def change(self, text):
        if self.fails:
            raise ValueError(self.letter)
        return self.returns or text + self.letter


def changed(*interceptors):
    return Interception(interceptors, "the test").change("", lambda each, text: each.change(text))


def test_a_value_goes_through_all_of_them_in_their_order():
    assert changed(Appends("a"), Appends("b"), Appends("c")) == "abc"


def test_what_one_makes_no_value_of_goes_on_as_it_was(caplog):
    assert changed(Appends("a"), Appends("b", fails=True), Appends("c")) == "ac"
    assert changed(Appends("a"), Appends("b", returns=5), Appends("c")) == "ac"
    assert caplog.text.count("interceptor.failed owner=the test") == 2
    assert "ValueError: b" in caplog.text
    assert "it returned 5" in caplog.text


def test_all_are_told_though_one_fails(caplog):
    told = []

    def tell(name):
        told.append(name)
        if name == "a":
            raise ValueError(name)

    Interception("ab", "the test").tell(tell)
    assert told == ["a", "b"]
    assert "ValueError: a" in caplog.text
