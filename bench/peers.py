"""Other skill managers, installed from the registries, for comparison with csk."""
import json
import os
import random
import shutil
import subprocess
import sys

# The newest that runs on Node.js 18 and later, and the version whose files csk reads. Later versions take minutes here.
NPM_SKILLS = "skills@1.5.26"
COCOASKILLS = "cocoaskills==0.5.0"
SKILLS, FILES, SIZE = 50, 5, 9_600


def install_npm(scratch):
    """Installs npm's `skills`; returns its program, or None if npm is not installed."""
    if not shutil.which("npm") or not shutil.which("node"):
        return None
    folder = os.path.join(scratch, "npm")
    os.makedirs(folder)
    done = subprocess.run(["npm", "install", "--silent", "--prefix", folder, NPM_SKILLS], capture_output=True)
    program = os.path.join(folder, "node_modules", ".bin", "skills")
    return program if done.returncode == 0 and os.path.exists(program) else None


def install_python(scratch):
    """Installs the Python csk; returns its program, or None if PyPI cannot be reached."""
    folder = os.path.join(scratch, "python")
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", COCOASKILLS], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{folder}/bin/csk"


def generate(base):
    """Generates 50 skills of 5 files, 2.4 MB in total: in one folder, and each as a repository; and empty projects."""
    rng = random.Random(2)
    env = dict(os.environ, GIT_CONFIG_GLOBAL=os.path.join(base, "gitconfig"))
    os.makedirs(base)
    with open(env["GIT_CONFIG_GLOBAL"], "w") as file:
        file.write("[user]\n\tname=t\n\temail=t@t\n[init]\n\tdefaultBranch=main\n")
    names = [f"peer-{number:02d}" for number in range(SKILLS)]
    for name in names:
        for root in (f"{base}/plain/skills/{name}", f"{base}/skills/{name}"):
            os.makedirs(f"{root}/references")
        for number in range(FILES):
            text = "".join(f"{rng.getrandbits(256):x}\n" for _ in range(SIZE // 65))
            path = "SKILL.md" if number == 0 else f"references/f{number}.md"
            if number == 0:
                text = f"---\nname: {name}\ndescription: Does {name}. Use when asked.\n---\n{text}"
            for root in (f"{base}/plain/skills/{name}", f"{base}/skills/{name}"):
                with open(f"{root}/{path}", "w") as file:
                    file.write(text)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "i"], ["tag", "v1.0.0"]):
            subprocess.run(["git", "-C", f"{base}/skills/{name}", *words], check=True, env=env, stdout=subprocess.DEVNULL)
    agents = ["claude_code", "codex_cli"]
    skillfile = {"schema_version": 1, "agents": agents, "skills": [{"name": name, "tag": "v1.0.0"} for name in names]}
    for project in ("app", "copy", "theirs", "npm"):
        os.makedirs(f"{base}/{project}")
        with open(f"{base}/{project}/Skillfile.json", "w") as file:
            json.dump(skillfile, file)
        with open(f"{base}/{project}/.gitignore", "w") as file:
            file.write(".agents/\n.claude/skills/\n.codex/skills/\n")
        subprocess.run(["git", "-C", f"{base}/{project}", "init", "-q"], check=True, env=env)
    for home, project, mode in (("home", "app", "auto"), ("home-copy", "copy", "copy"), ("home-theirs", "theirs", "copy")):
        config = {"schema_version": 1, "skills_root": f"{base}/skills", "default_agents": agents, "adapter_mode": mode,
                  "projects": {"app": {"path": f"{base}/{project}", "agents": agents, "project_alias": "app", "checkout_alias": "app"}}}
        os.makedirs(f"{base}/{home}/.cocoaskills")
        with open(f"{base}/{home}/.cocoaskills/config.json", "w") as file:
            json.dump(config, file)
    return env
