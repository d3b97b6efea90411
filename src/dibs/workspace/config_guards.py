"""The parts of `.dibs/config.toml` about guards, roles, files and deploys, checked. Loaded when the file changed."""

from __future__ import annotations

from dibs.errors import Invalid
from dibs.operations.core.policy import GUARDS, MAX_HOOK_WAIT_MS, check_duration
from dibs.workspace.known_clients import STRICT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final, Literal

    from dibs.operations.core.policy import DeploySettings, DeployTarget, GuardSettings, Rights, Roles
    from dibs.stores.seam import Json
    from dibs.workspace.config import Table

MAX_KEEP_MS = 365 * 86_400_000  # of contents
MAX_STATES_BYTES = 1 << 50
DOUBTS = ("deny", "allow")
ACROSS = ("warn", "block", "ignore")
FILES = ("state", "decisions", "lessons")
ROLES = ("viewer", "worker", "agent", "orchestrator")  # those that need no table of their own

# Commands that ship something wherever they are typed; the value is the target whose claim they need. `*`: any words.
COMMANDS = {
    "wrangler deploy": "wrangler", "wrangler publish": "wrangler", "wrangler pages deploy": "wrangler",
    "wrangler pages publish": "wrangler", "wrangler versions deploy": "wrangler", "wrangler rollback": "wrangler",
    "wrangler d1 migrations apply * --remote": "wrangler", "kubectl apply": "kubernetes",
    "kubectl replace": "kubernetes", "kubectl set image": "kubernetes", "kubectl rollout restart": "kubernetes",
    "kubectl rollout undo": "kubernetes", "oc apply": "kubernetes", "oc rollout": "kubernetes",
    "helm upgrade": "kubernetes", "helm install": "kubernetes", "helm rollback": "kubernetes",
    "skaffold run": "kubernetes", "skaffold deploy": "kubernetes", "kubectl create": "kubernetes",
    "kubectl patch": "kubernetes", "kubectl scale": "kubernetes", "kubectl set": "kubernetes",
    "kubectl delete": "kubernetes", "helm uninstall": "kubernetes", "helmfile apply": "kubernetes",
    "helmfile sync": "kubernetes", "helmfile destroy": "kubernetes", "flux reconcile": "kubernetes",
    "argocd app rollback": "kubernetes", "argocd app sync": "kubernetes", "nomad job run": "nomad",
    "nomad run": "nomad", "terraform apply": "terraform", "terraform destroy": "terraform", "tofu apply": "terraform",
    "tofu destroy": "terraform", "terragrunt * apply": "terraform", "terragrunt * destroy": "terraform",
    "cdktf deploy": "terraform", "pulumi up": "pulumi", "pulumi destroy": "pulumi", "vercel": "vercel",
    "vercel deploy": "vercel", "vercel alias set": "vercel", "vercel promote": "vercel", "vercel redeploy": "vercel",
    "vercel rollback": "vercel", "netlify deploy": "netlify", "fly deploy": "fly", "fly launch": "fly",
    "railway up": "railway", "railway redeploy": "railway", "render deploys create": "render",
    "supabase db push": "supabase", "supabase functions deploy": "supabase", "convex deploy": "convex",
    "prisma migrate deploy": "database", "firebase deploy": "firebase", "firebase hosting:clone": "firebase",
    "firebase hosting:channel:deploy": "firebase", "hasura deploy": "hasura",
    "pscale deploy-request deploy": "database", "serverless deploy": "serverless", "sls deploy": "serverless",
    "sst deploy": "sst", "cdk deploy": "cdk", "sam deploy": "sam", "sam sync": "sam", "chalice deploy": "chalice",
    "zappa deploy": "zappa", "zappa update": "zappa", "amplify publish": "amplify", "amplify push": "amplify",
    "copilot deploy": "copilot", "copilot svc deploy": "copilot", "aws s3 sync": "s3", "aws s3 cp": "s3",
    "aws ecs update-service": "ecs", "aws lambda update-function-code": "lambda",
    "aws cloudformation deploy": "cloudformation", "aws cloudformation create-stack": "cloudformation",
    "aws cloudformation update-stack": "cloudformation", "aws cloudformation execute-change-set": "cloudformation",
    "aws elasticbeanstalk update-environment": "eb", "aws apprunner start-deployment": "apprunner",
    "aws amplify start-job": "amplify", "aws amplify start-deployment": "amplify",
    "aws codepipeline start-pipeline-execution": "codepipeline", "aws deploy create-deployment": "codedeploy",
    "gsutil * rsync": "gcs", "gsutil * cp": "gcs", "gcloud storage rsync": "gcs", "gcloud storage cp": "gcs",
    "gcloud * deploy": "gcloud", "gcloud run services update": "gcloud", "gcloud run services replace": "gcloud",
    "gcloud run services update-traffic": "gcloud", "gcloud builds submit": "gcloud", "az webapp up": "azure",
    "az webapp deploy": "azure", "az webapp deployment source": "azure", "az deployment * create": "azure",
    "az containerapp up": "azure", "az containerapp update": "azure", "swa deploy": "azure",
    "az functionapp deployment": "azure", "func azure functionapp publish": "azure", "eb deploy": "eb",
    "doctl apps create-deployment": "digitalocean", "doctl apps update": "digitalocean",
    "heroku container:push": "heroku", "heroku container:release": "heroku", "heroku releases:rollback": "heroku",
    "cf push": "cloudfoundry", "kamal deploy": "kamal", "kamal rollback": "kamal", "kamal redeploy": "kamal",
    "deployctl deploy": "deno", "deno deploy": "deno", "caprover deploy": "caprover", "clever deploy": "clever",
    "scalingo deploy": "scalingo", "zeabur deploy": "zeabur", "upsun push": "upsun", "platform push": "upsun",
    "koyeb * redeploy": "koyeb", "modal deploy": "modal", "shopify theme push": "shopify",
    "shopify app deploy": "shopify", "databricks bundle deploy": "databricks", "gh-pages": "pages", "surge": "surge",
    "mkdocs gh-deploy": "pages", "mike deploy": "pages", "ng deploy": "angular", "clasp push": "apps-script",
    "clasp deploy": "apps-script", "sf project deploy": "salesforce", "sfdx project deploy": "salesforce",
    "sfdx force:source:deploy": "salesforce", "anchor deploy": "solana", "forge * --broadcast": "ethereum",
    "nixos-rebuild * --target-host": "nixos", "colmena apply": "nixos", "mina * deploy": "mina",
    "dep deploy": "deployer", "fab * deploy": "fabric", "envoy run deploy": "envoy", "rsync": "server", "scp": "server",
    "eas submit": "expo", "eas update": "expo", "expo publish": "expo", "fastlane * deploy": "fastlane",
    "fastlane * release": "fastlane", "fastlane deliver": "fastlane", "fastlane supply": "fastlane",
    "docker push": "docker", "docker compose push": "docker", "docker build * --push": "docker",
    "docker buildx * --push": "docker", "docker compose build * --push": "docker", "podman push": "docker",
    "docker stack deploy": "docker", "docker service update": "docker", "docker compose up": "docker",
    "docker-compose up": "docker", "npm publish": "npm", "pnpm publish": "npm", "yarn publish": "npm",
    "yarn npm publish": "npm", "bun publish": "npm", "lerna publish": "npm", "changeset publish": "npm",
    "semantic-release": "npm", "twine upload": "pypi", "poetry publish": "pypi", "uv publish": "pypi",
    "flit publish": "pypi", "hatch publish": "pypi", "cargo publish": "crates", "gem push": "rubygems",
    "mvn * deploy": "maven", "mvn * release:perform": "maven", "gradle * publish": "maven",
    "goreleaser release": "github", "gh release create": "github", "gh workflow run": "github",
    "dotnet nuget push": "nuget", "ansible-playbook": "ansible", "cap * deploy": "capistrano",
}  # fmt: skip
DEPLOY: DeploySettings = {
    "commands": COMMANDS,
    "protected": ["main", "master"],
    "placeholders": ["TODO", "TBD", "coming soon"],
    "targets": {},
    "fetch_timeout": 20,
    "verify_timeout": 120,
    "remote": "",
    "branch": "",
}
TARGET_TEXTS: Final = ("verify", "branch", "remote")


def read(text: Table, path: str) -> GuardSettings:
    """What the guards are told, complete: what the file does not say is as GUARDS has it."""
    table = _table(text, "guards", path)
    _known(table, ("on_doubt", "free", "strict", "across_worktrees", "keep", "states", "wait"), "guards", path)
    return {
        "on_doubt": _choice(table, "on_doubt", DOUBTS, path),
        "free": _paths(table.get("free", GUARDS["free"]), "guards.free", path),
        "strict": _strict(_paths(table.get("strict", []), "guards.strict", path)),
        "across_worktrees": _choice(table, "across_worktrees", ACROSS, path),
        "keep": _duration(table, "keep", MAX_KEEP_MS, path),
        "wait": _duration(table, "wait", MAX_HOOK_WAIT_MS, path),
        "states": _states(table, path),
        "files": _files(text, path),
        "roles": _roles(text, path),
        "deploy": _deploy(text, path),
    }


def _duration(table: Table, key: Literal["keep", "wait"], most: int, path: str) -> int:
    """A duration, in ms; `wait` may be 0."""
    if key not in table:
        return GUARDS[key]
    if key == "wait" and str(table[key]) in {"0", "0s"}:
        return 0
    from dibs.machine import durations

    name = f"{path}: guards.{key}"
    return check_duration(durations.parse(str(table[key]), name), name, most=most)


def _states(table: Table, path: str) -> int:
    """How many bytes the states of working trees may take; 0: none are kept."""
    found = table.get("states", GUARDS["states"])
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MAX_STATES_BYTES:
        raise Invalid(f"{path}: guards.states is a number of bytes, 0 for no states, not {found!r}", path=path)
    return found


def _strict(wanted: list[str]) -> list[str]:
    """What the file lists comes on top of what is strict anyway; `!PATTERN` takes one of those out."""
    dropped = {pattern[1:] for pattern in wanted if pattern.startswith("!")}
    added = [pattern for pattern in wanted if not pattern.startswith("!")]
    return [*[pattern for pattern in (*GUARDS["strict"], *STRICT) if pattern not in dropped], *added]


def _paths(value: Json, name: str, path: str) -> list[str]:
    """Patterns of paths below the repository's top."""
    found = _texts(value, name, path)
    for pattern in found:
        if pattern.startswith("/") or ".." in pattern.split("/"):
            raise Invalid(f"{path}: {name} has {pattern!r}, which is not below the repository's top", path=path)
    return found


def _files(text: Table, path: str) -> dict[str, str]:
    table = _table(text, "files", path)
    _known(table, FILES, "files", path)
    for name, value in table.items():
        if not isinstance(value, str) or not value or value.startswith("/") or ".." in value.split("/"):
            raise Invalid(f"{path}: files.{name} is a path below the repository's top", path=path)
    return dict(table)


def _roles(text: Table, path: str) -> Roles:
    table = _table(text, "roles", path)
    default = table.get("default", "")
    assign = table.get("assign", {})
    if not isinstance(default, str):
        raise Invalid(f"{path}: roles.default is the name of a role", path=path)
    if not isinstance(assign, dict) or not all(isinstance(role, str) for role in assign.values()):
        raise Invalid(f'{path}: [roles.assign] has lines such as "type:planner" = "orchestrator"', path=path)
    for pattern in assign:
        if pattern.count("*") > 1:
            raise Invalid(f"{path}: [roles.assign] {pattern!r}: an agent's id with at most one `*`", path=path)
    named = {name: _role(role, name, path) for name, role in table.items() if name not in {"default", "assign"}}
    for role in [default, *assign.values()]:
        if role and role not in named and role not in ROLES:
            raise Invalid(f"{path}: there is no [roles.{role}]", path=path)
    return {"default": default, "assign": [[pattern, role] for pattern, role in assign.items()], "named": named}


def _role(role: Json, name: str, path: str) -> Rights:
    if not isinstance(role, dict):
        raise Invalid(f"{path}: [roles.{name}] is a table", path=path)
    if name == "person":
        raise Invalid(f"{path}: a person is known by the operating system's user, not by a role", path=path)
    _known(role, ("may", "write", "tools", "commit", "deploy"), f"roles.{name}", path)
    kept: Rights = {}
    if "may" in role:
        if role["may"] not in ROLES or name in ROLES:
            message = f"{path}: roles.{name}.may is one of {', '.join(ROLES)}, for a role with a name of its own"
            raise Invalid(message, path=path)
        kept["may"] = role["may"]
    if "write" in role:
        kept["write"] = _paths(role["write"], f"roles.{name}.write", path)
    if "tools" in role:
        kept["tools"] = _texts(role["tools"], f"roles.{name}.tools", path)
    for key in ("commit", "deploy"):
        if key in role:
            if not isinstance(role[key], bool):
                raise Invalid(f"{path}: roles.{name}.{key} is true or false", path=path)
            kept[key] = role[key]
    return kept


def _deploy(text: Table, path: str) -> DeploySettings:
    table = _table(text, "deploy", path)
    _known(table, tuple(DEPLOY), "deploy", path)
    commands = table.get("commands", {})
    if not isinstance(commands, dict) or not all(
        isinstance(target, str) and command.strip() for command, target in commands.items()
    ):
        raise Invalid(f'{path}: deploy.commands has pairs such as "wrangler deploy" = "prod"', path=path)
    found: DeploySettings = {
        # On top of what is known anyway; "" takes one out.
        "commands": {command: target for command, target in {**COMMANDS, **commands}.items() if target},
        "protected": _texts(table.get("protected", DEPLOY["protected"]), "deploy.protected", path),
        "placeholders": _texts(table.get("placeholders", DEPLOY["placeholders"]), "deploy.placeholders", path),
        "targets": {},
    }
    for limit in ("fetch_timeout", "verify_timeout"):
        seconds = table.get(limit, DEPLOY[limit])
        if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= 3600:  # noqa: PLR2004 - an hour
            raise Invalid(f"{path}: deploy.{limit} is a number of seconds up to 3600", path=path)
        found[limit] = seconds
    for key in ("remote", "branch"):
        if not isinstance(table.get(key, ""), str):
            raise Invalid(f"{path}: deploy.{key} is a text", path=path)
        found[key] = table.get(key, "")
    targets = table.get("targets", {})
    if not isinstance(targets, dict):
        raise Invalid(f"{path}: [deploy.targets] is a table", path=path)
    for name, target in targets.items():
        if not isinstance(target, dict):
            raise Invalid(f"{path}: [deploy.targets.{name}] is a table", path=path)
        _known(target, (*TARGET_TEXTS, "ships"), f"deploy.targets.{name}", path)
        kept: DeployTarget = {}
        for text_key in TARGET_TEXTS:
            if text_key in target:
                if not isinstance(target[text_key], str) or not target[text_key]:
                    raise Invalid(f"{path}: deploy.targets.{name}.{text_key} is a text", path=path)
                kept[text_key] = target[text_key]
        if "ships" in target:
            kept["ships"] = _texts(target["ships"], f"deploy.targets.{name}.ships", path)
        found["targets"][name] = kept
    return found


def _choice(table: Table, name: Literal["on_doubt", "across_worktrees"], choices: tuple[str, ...], path: str) -> str:
    value = table.get(name, GUARDS[name])
    if value not in choices:
        raise Invalid(f"{path}: guards.{name} is one of {', '.join(choices)}, not {value!r}", path=path)
    return str(value)


def _texts(value: Json, name: str, path: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise Invalid(f"{path}: {name} is a list of texts", path=path)
    return list(value)


def _known(table: Table, known: tuple[str, ...], name: str, path: str) -> None:
    """A misspelt setting of a guard would silently guard nothing, so it is an error."""
    for key in table:
        if key not in known:
            raise Invalid(f"{path}: [{name}] has no setting {key!r}; it has {', '.join(known)}", path=path)


def _table(text: Table, name: str, path: str) -> Table:
    found = text.get(name, {})
    if not isinstance(found, dict):
        raise Invalid(f"{path}: [{name}] is a table", path=path)
    return found
