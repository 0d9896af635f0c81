from click.testing import CliRunner

from magnetar.tools.config import config


def show(*arguments: str, **environment: str) -> list[str]:
    result = CliRunner().invoke(config, ["show", *arguments], env=environment)
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def test_each_setting_is_shown_with_its_source(tmp_path):
    file = tmp_path / "standalone.conf"
    file.write_text("clusterName=here\nloadBalancerEnabled=true\n")
    lines = show("--conf", str(file), MAGNETAR_WEB_SERVICE_PORT="9090")
    shown = {line.split("=")[0]: " ".join(line.split()) for line in lines if "  # " in line}
    assert shown["clusterName"] == f"clusterName=here # file {file}"
    assert shown["webServicePort"] == (
        "webServicePort=9090 # environment MAGNETAR_WEB_SERVICE_PORT"
    )
    assert shown["maxMessageSize"] == "maxMessageSize=5242880 # default"
    assert "loadBalancerEnabled is no setting of Magnetar; it is ignored." in lines


def test_settings_explain_themselves_when_asked():
    lines = show("--about")
    place = next(i for i, line in enumerate(lines) if line.startswith("brokerServicePort="))
    assert lines[place - 1] == "# port of the binary protocol; 0 picks a free one"
