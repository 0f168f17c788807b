"""Chat templates rendered in C++ against Jinja as transformers sets it up."""

import datetime

import pytest
from chat_templates import BEYOND, BROKEN, CONSTRUCTS, FAMILIES
from fetched import model_or_skip
from tokenize_tool import tool  # noqa: F401  a fixture
from transformers.utils.chat_template_utils import _compile_jinja_template

NOW = 1_790_000_000
HARD = "Hello {{there}}\n  <|im_end|> \u3000 é 漢字 \"'\\ {% x %} "
CONVERSATIONS = {
    "a question": [("user", HARD)],
    "with a system message": [("system", " You are a <test>. /no_think "), ("user", "Why?")],
    "several turns": [("user", "Why?"), ("assistant", "<think>\nhm\n</think>\n\nBecause.\n"), ("user", HARD)],
    "a system message and several turns": [("system", "S"), ("user", "a"), ("assistant", "b"), ("user", "c")],
    "an answer last": [("user", "Why?"), ("assistant", "<think>\nhm\n</think>\n\nBecause.")],
    "out of turn": [("user", "a"), ("user", "b")],
}


def rendered_by_jinja(template, messages):
    """The text; or None where the template refuses the messages."""
    import jinja2

    try:
        return _compile_jinja_template(template).render(
            messages=[{"role": role, "content": content} for role, content in messages],
            add_generation_prompt=True, tools=None, documents=None, bos_token="<s>", eos_token="</s>",
            strftime_now=lambda form: datetime.datetime.fromtimestamp(NOW).strftime(form))  # fmt: skip
    except jinja2.exceptions.TemplateError as error:
        assert "turns must alternate" in str(error).lower(), error
        return None


def ask(tool, template, messages):
    return tool.ask(template=template, messages=messages, now=NOW)


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_templates_of_the_families_render_as_jinja_does(tool, family, conversation):
    messages = CONVERSATIONS[conversation]
    wanted = rendered_by_jinja(FAMILIES[family], messages)
    answer = ask(tool, FAMILIES[family], messages)
    if wanted is None:
        assert "refuses this conversation" in answer["error"] and answer["code"] == "unsupported", answer
    else:
        assert answer == {"chat": wanted}


@pytest.mark.parametrize("template", CONSTRUCTS)
def test_every_construct_renders_as_jinja_does(tool, template):
    for messages in ([("user", "u")], [("system", "s"), ("user", "ü\n")]):
        assert ask(tool, template, messages) == {"chat": rendered_by_jinja(template, messages)}


@pytest.mark.parametrize("template", [*BEYOND, *BROKEN])
def test_what_is_beyond_or_broken_is_refused_by_name(tool, template):
    answer = ask(tool, template, [("user", "u")])
    assert answer.get("code") == "unsupported", answer
    assert {**BEYOND, **BROKEN}[template] in answer["error"] and answer["error"].startswith("chat template, line "), answer


def test_smollm2s_chat_template_has_its_default_system_message(tool):
    rendered = tool.ask(chat_of=str(model_or_skip()))["chat"]
    assert rendered.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM") and rendered.endswith("hello<|im_end|>\n<|im_start|>assistant\n")
