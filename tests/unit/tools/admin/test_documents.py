from click.testing import CliRunner

from magnetar.tools.admin.command import admin


def test_the_help_is_written_as_markdown():
    said = CliRunner().invoke(admin, ["documents", "generate", "tenants"]).output
    assert said.startswith("# tenants\n")
    assert "## create" in said
    assert "- `--admin-roles, -r` Its admins" in said or "- `-r, --admin-roles` Its admins" in said
    everything = CliRunner().invoke(admin, ["documents", "generate"]).output
    assert "# topicPolicies" in everything
    assert CliRunner().invoke(admin, ["documents", "generate", "x"]).exit_code == 2
