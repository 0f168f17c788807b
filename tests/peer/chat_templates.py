"""Chat templates in the style of each family, written for the tests: their shapes and constructs, not their words."""

CHATML = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

# SmolLM2: a system message of its own if the first message is none.
SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}" + CHATML.removeprefix("{% for message in messages %}")
)

QWEN3 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(searching=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == "user" and message.content is string and not(message.content.startswith('<tool>') and message.content.endswith('</tool>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thought = '' %}
        {%- if message.thought is string %}
            {%- set thought = message.thought %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or (not loop.last and thought)) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set rest = messages -%}
{%- endif -%}
{%- for message in rest -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Turns must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
"""

LLAMA3 = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message, so that it can be put into the right place. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Today: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at a time!") }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

SMOLLM3 = """{# ----- defaults ----- #}
{%- if enable_thinking is not defined -%}
{%- set enable_thinking = true -%}
{%- endif -%}
{%- if enable_thinking -%}
  {%- set mode = "/think" -%}
{%- else -%}
  {%- set mode = "/no_think" -%}
{%- endif -%}
{{- "<|im_start|>system\\n" -}}
{%- if messages[0].role == "system" -%}
  {%- set given = messages[0].content -%}
  {%- if "/no_think" in given -%}
    {%- set mode = "/no_think" -%}
  {%- elif "/think" in given -%}
    {%- set mode = "/think" -%}
  {%- endif -%}
  {%- set custom = given.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{%- if "/system_override" in given|default("") -%}
  {{- custom.replace("/system_override", "").rstrip() -}}
  {{- "<|im_end|>\\n" -}}
{%- else -%}
  {{- "## Metadata\\n\\n" -}}
  {%- set today = strftime_now("%d %B %Y") -%}
  {{- "Today: " ~ today ~ "\\n" -}}
  {{- "Mode: " + mode + "\\n\\n" -}}
  {%- if custom -%}
    {{- custom + "\\n\\n" -}}
  {%- elif mode == "/think" -%}
    {{- "Think first.\\n\\n" -}}
  {%- endif -%}
  {{- "<|im_end|>\\n" -}}
{%- endif -%}
{# ----- messages ----- #}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}
        {{ "<|im_start|>" + message.role + "\\n"  + content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if mode == "/think" -%}
            {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- else -%}
            {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- elif message.role == "tool" -%}
    {{ "<|im_start|>" + "user\\n"  + content + "<|im_end|>\\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {%- if mode == "/think" -%}
        {{ "<|im_start|>assistant\\n" }}
    {%- else -%}
        {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n"  }}
    {%- endif -%}
{%- endif -%}
"""

MINISTRAL = """{#- Default system message. #}
{%- set default_system_message = 'Today is {today}.' %}
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- if messages[0]['content'] is string %}
        {{- '[SYSTEM_PROMPT]' + messages[0]['content'] + '[/SYSTEM_PROMPT]' }}
    {%- else %}
        {{- '[SYSTEM_PROMPT]' }}
        {%- for block in messages[0]['content'] %}
            {%- if block['type'] == 'text' %}{{- block['text'] }}{%- else %}{{- raise_exception('Only text.') }}{%- endif %}
        {%- endfor %}
        {{- '[/SYSTEM_PROMPT]' }}
    {%- endif %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
    {%- if default_system_message != '' %}
        {{- '[SYSTEM_PROMPT]' + default_system_message.replace('{today}', strftime_now("%Y-%m-%d")) + '[/SYSTEM_PROMPT]' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if message.role == 'user' or (message.role == 'assistant' and (message.tool_calls is not defined or message.tool_calls is none or message.tool_calls | length == 0)) %}
        {%- if (message['role'] == 'user') != (ns.index % 2 == 0) %}
            {{- raise_exception('After the system message turns must alternate.') }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{%- for message in loop_messages %}
    {%- if message['role'] == 'user' %}
        {%- if message['content'] is string %}
            {{- '[INST]' + message['content'] + '[/INST]' }}
        {%- elif message['content'] | length > 0 %}
            {%- set sorted_blocks = message['content'] | selectattr('type', 'equalto', 'text') | list %}
            {{- '[INST]' ~ sorted_blocks | map(attribute='text') | join('') ~ '[/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- message['content'] + eos_token }}
    {%- else %}
        {{- raise_exception('Only user, assistant and system roles are supported, got ' + message['role'] + '.') }}
    {%- endif %}
{%- endfor %}
"""

PHI4 = (
    "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}"
    "{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"
)

GRANITE3 = """{%- if messages[0]['role'] == 'system' %}
     {%- set system_message = messages[0]['content'] %}
     {%- set loop_messages = messages[1:] %}
 {%- else %}
     {%- set system_message = "Cutoff: April 2024.
Today's Date: " + strftime_now('%B %d, %Y') + ".
You are helpful." %}
     {%- if tools and documents %}
         {%- set system_message = system_message + " Use tools." %}
     {%- elif documents %}
         {%- set system_message = system_message + " Cite." %}
     {%- endif %}
     {%- set loop_messages = messages %}
 {%- endif %}
 {{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>
' }}
 {%- if tools %}
     {{- '<|start_of_role|>tools<|end_of_role|>' }}
     {{- tools | tojson(indent=4) }}
     {{- '<|end_of_text|>
' }}
 {%- endif %}
 {%- for message in loop_messages %}
     {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>
' }}
     {%- if loop.last and add_generation_prompt %}
         {{- '<|start_of_role|>assistant' }}
             {%- if controls %}
                 {{- ' ' + controls | tojson()}}
             {%- endif %}
         {{- '<|end_of_role|>' }}
     {%- endif %}
 {%- endfor %}
"""

# gpt-oss: macros with defaults that call each other.
GPT_OSS = """{%- macro shape(spec, needed, nullable=false) -%}
    {%- if spec.type == "array" -%}
        {{- shape(spec['items'], needed) + "[]" }}
        {%- if nullable or spec.nullable -%}
            {{- " | null" }}
        {%- endif -%}
    {%- elif spec.type == "string" -%}
        {%- if spec.enum -%}
            {{- '"' + spec.enum|join('" | "') + '"' -}}
        {%- else -%}
            {{- "string" }}
        {%- endif -%}
    {%- else -%}
        {{- "any" }}
    {%- endif -%}
{%- endmacro -%}
{%- macro system(identity) -%}
    {{- (identity or "You are ChatGPT.") + "\\n" }}
    {{- "Current date: " + strftime_now("%Y-%m-%d") + "\\n\\n" }}
    {{- "// " + shape({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, [], nullable=true) }}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}
{{- system(none) }}
{{- "<|end|>" }}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set instructions = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if instructions %}
    {{- "<|start|>developer<|message|># Instructions\\n\\n" + instructions + "\\n\\n<|end|>" }}
{%- endif %}
{%- set last = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "thinking" in message and "<|channel|>" in message.thinking %}
            {{- raise_exception("No channels.") }}
        {%- endif %}
        {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + ("<|return|>" if loop.last and not add_generation_prompt else "<|end|>") }}
        {%- set last.name = none %}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}
"""

FAMILIES = {
    "ChatML": CHATML,
    "SmolLM2": SMOLLM2,
    "Qwen 3": QWEN3,
    "Gemma 3": GEMMA3,
    "Llama 3": LLAMA3,
    "SmolLM3": SMOLLM3,
    "Ministral 3": MINISTRAL,
    "Phi 4": PHI4,
    "Granite 3": GRANITE3,
    "gpt-oss": GPT_OSS,
}

# One construct each; every one is rendered by Jinja too.
CONSTRUCTS = [
    "{{ 1 + 2 * 3 - 4 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2.5 + 1 }} {{ -3 }} {{ 1_000 }}",
    "{{ 'a' ~ 1 ~ none ~ true ~ missing }}|{{ missing }}|{{ none }}|{{ [1] == [1.0] }}|{{ true == 1 }}",
    "{{ 1 < 2 < 3 }} {{ 3 > 2 >= 2 }} {{ 'a' < 'b' }} {{ 'b' in 'abc' }} {{ 4 not in [1, 2] }} {{ not 1 == 2 }}",
    "{{ 'x' if false }}|{{ 'x' if false else 'y' if false else 'z' }}|{{ 0 or 'a' }}|{{ 1 and 'b' }}|{{ '' or none }}",
    "{{ 'tab\\t quote\\' back\\\\ u\\u00e9 x\\x41 o\\101 keep\\q' }}{{ \"two\" 'texts' }}",
    "{{ messages | map(attribute='role') | join('-') }} {{ messages | length }} {{ messages[-1].role }} {{ messages[9] }}",
    "{{ 'hällo wörld'[1:4] }} {{ 'hällo'[::-1] }} {{ 'hällo'[-2] }} {{ 'hällo'|length }} {{ [1,2,3,4][1::2] | join }} {{ [1,2,3][:-5] | length }}",
    "{{ ' \u3000 x \u00a0' | trim }}|{{ 'xxaxx'.strip('x') }}|{{ 'éaé'.lstrip('é') }}|{{ ' a '.rstrip() }}|{{ 'ab'.strip('') }}",
    "{{ 'a,b,,c'.split(',') | join('|') }} {{ ' a  b '.split() | join('|') }} {{ 'a b c'.split(' ', 1) | join('|') }} {{ 'abc'.split('x')|length }}",
    "{{ 'aaa'.replace('a', 'b', 2) }} {{ 'aXbX' | replace('X', '--') }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'äbc'.find('c') }}",
    "{{ 'hello wORLD it\\'s-me' | title }} {{ 'hello it\\'s'.title() }} {{ 'hELLO' | capitalize }} {{ 'aB' | upper }} {{ 'aB'.lower() }}",
    "{% for k, v in {'b': 1, 'a': [true, none]}.items() %}{{ k }}={{ v | tojson }};{% endfor %}{{ {'a': {'b': 'é\\n\"'}} | tojson }}",
    "{{ {'a': [1, {'b': []}], 'c': {}} | tojson(indent=2) }}{{ [] | tojson(indent=4) }}",
    "{% for x in [1, 2, 3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }},{% endfor %}",
    "{% for x in range(10) if x is odd %}{% if x == 7 %}{% break %}{% endif %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{{ loop.length }}{% else %}none{% endfor %}",
    "{% for x in [] %}a{% else %}empty{% endfor %}{% for c in 'äb' %}[{{ c }}]{% endfor %}{% for k in {'x': 1} %}{{ k }}{% endfor %}{% for x in missing %}a{% endfor %}",
    "{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}",
    "{% set a, b = 1, 'two' %}{{ b }}{{ a }}{% set t %}block {{ a }}{% endset %}{{ t | upper }}{% set n = namespace(c=0) %}{% for i in range(3) %}{% set n.c = n.c + i %}{% endfor %}{{ n.c }}",
    "{% macro m(a, b='x', c=none) %}[{{ a }}{{ b }}{{ c }}{{ outer }}]{% endmacro %}{% set outer = 'o' %}{{ m(1) }}{{ m(1, 2, c=3) }}{{ m() }}",
    "{{ missing is defined }} {{ messages is iterable }} {{ 'a' is string }} {{ 1 is number }} {{ none is none }} {{ {} is mapping }} {{ 4 is divisibleby 2 }} {{ 3 is even }} {{ 'a' is in ['a'] }} {{ 1 is not string }} {{ true is true }} {{ 1 is integer }} {{ 1.5 is float }} {{ 'a' is equalto 'a' }} {{ [] is sequence }}",
    "{{ missing | default('d') }} {{ '' | default('d') }} {{ '' | default('d', true) }} {{ none | default('d') }} {{ ' 42 ' | int }} {{ 'x' | int }} {{ 'x' | int(7) }} {{ 3.9 | int }} {{ 5 | string + 'a' }}",
    "{{ [3, 1, 2] | first }} {{ [3, 1, 2] | last }} {{ [] | first }} {{ [1, 2] | reverse | list | join(',') }} {{ 'abc' | list | join('.') }} {{ [1, 0, 2] | select | list | length }} {{ [1, 2, 3] | reject('odd') | join }} {{ ['a', 'b'] | map('upper') | join }} {{ ', '.join(['x', 'y']) }}",
    "{{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ messages | rejectattr('role', 'in', ['user']) | map(attribute='role') | list | join }} {{ messages[0].get('role') }} {{ messages[0].get('x', 'none') }} {{ messages[0].keys() | join }} {{ messages[0]['nope'] is defined }}",
    "a\n  {% if true %}\n  b\n  {% endif %}\nc {% if true %} d {% endif %} e\n{# gone #}\nf\n   {# gone #}   \n {{ 'x' }}  \n{{- 'y' -}}  \n z \n\n",
    "{%- if true -%}  x  {%- endif -%}  y  {%+ if true +%}\n  z{% endif %}  {#- c -#}  w {% if true %}  {% endif %}|\r\nq\r\n",
    "{{ {'a': {'b': 1}}['a'].b }}{{ (1, 2)[1] }}{{ ((3)) }}{{ [[1, 2], [3]][0][1] }}{{ {'a': 1,}.a }}{{- '}}' -}} {{ '%}' }} { } {x} {{ '{{' }}",
    "{% if messages[0]['content'] is string and messages[0].role in ['system', 'user'] or false %}yes{% elif true %}no{% endif %}{{ messages[0].role == 'user' and 'u' or 's' }}",
]

# Constructs outside of the part that is known, with the words that name them.
BEYOND = {
    "{% include 'x' %}": "the tag 'include' is not supported",
    "{% extends 'x' %}": "the tag 'extends' is not supported",
    "{% call m() %}{% endcall %}": "the tag 'call' is not supported",
    "{% filter upper %}a{% endfilter %}": "the tag 'filter' is not supported",
    "{% for x in [] recursive %}{% endfor %}": "recursive loop",
    "{{ 2 ** 3 }}": "'**'",
    "{{ [2, 1] | sort }}": "the filter 'sort' is not supported",
    "{{ 'a' | escape }}": "the filter 'escape' is not supported",
    "{{ 1 is callable }}": "the test 'callable' is not supported",
    "{{ 'a'.format(1) }}": "the method 'format' of a text is not supported",
    "{{ messages.append(1) }}": "the method 'append' of a list is not supported",
    "{{ messages[0].pop('role') }}": "the method 'pop' of a mapping is not supported",
    "{{ messages }}": "a list written as text is not supported",
    "{{ messages[0] }}": "a mapping written as text is not supported",
    "{{ lipsum() }}": "'lipsum' is not defined",
    "{{ missing.a }}": "'missing' is not defined",
    "{{ 'a' + 1 }}": "'+' between a text and a whole number",
    "{{ 'é' | upper }}": "letters other than A to Z",
    "{{ raise_exception('No.') }}": "the template refuses this conversation: No.",
    "{{ ''.__class__.__mro__ }}": "'__class__' is not defined",
    "{{ m(*messages) }}": "arguments with '*'",
}
BROKEN = {
    "{{": "has no }}",
    "{% if true": "has no %}",
    "{# x": "has no #}",
    "{% if true %}": "has no {% endif %}",
    "{% for x in [] %}{% endif %}": "expected {% endfor %}",
    "{% endif %}": "closes nothing",
    "{{ 'abc }}": "has no end",
    "a\nb\n{{ 1 + }}": "line 3",
    "{{ (1 }}": "a '}' closes nothing",
    "{{ ] }}": "closes nothing",
    "{{ a ? b }}": "'?' has no meaning",
    "{% break %}": "outside of a loop",
}
