"""A tiny Llama with a tokenizer of its own, as a folder, and the command line run over it."""
import os
import subprocess

import tokenizers
import torch
import transformers

BINARY = os.environ["SHARPMAX_BINARY"]
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom. " * 30


def write_tiny_folder(path):
    """TEXT is in text.txt beside it. The trained context is 256."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator([TEXT], trainer)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", chat_template=CHATML)
    fast.save_pretrained(path)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(vocab_size=len(fast), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                      num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                                      eos_token_id=0)
    model = transformers.LlamaForCausalLM(config).float()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 1.5 / weight.shape[-1] ** 0.5)
        model.lm_head.weight[0] = -model.lm_head.weight[0].abs()
    model.save_pretrained(path)
    (path / "text.txt").write_text(TEXT)
    return path


def sharpmax(*words, **options):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, **options)


def refused(code, *words, **options):
    done = sharpmax(*words, **options)
    assert done.returncode == code, done
    assert done.stdout == b""
    sentence = done.stderr.decode()
    assert sentence.startswith("sharpmax: ") and sentence.count("\n") == 1, sentence
    return sentence
