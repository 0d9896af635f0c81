async def test_the_document_is_served_whole_and_the_same_again(world):
    answer = await world.ask("GET", "/admin/v2/openapi.json")
    assert (answer.status, answer.content_type) == (200, "application/json")
    assert answer.json["info"]["version"] == "9.9.9"
    assert "/admin/v2/persistent/{tenant}/{namespace}/{topic}/stats" in answer.json["paths"]
    assert "/admin/v2/openapi.json" in answer.json["paths"]
    assert (await world.ask("GET", "/admin/v2/openapi.json")).text == answer.text
