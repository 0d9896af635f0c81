"""The inner loops as anybody can read them: head by head. They say what the compiled ones do."""
