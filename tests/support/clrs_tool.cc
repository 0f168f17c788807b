// clrs_tool ALGORITHMS SIZES SEEDS COUNT: CLRS-Text as JSON lines, for tests/peer/test_clrs_text.py. Every seed begins anew
// for each size and format, as sampling on the fly does in the package.
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "train/clrs/clrs_text.h"

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

}  // namespace

int main(int count, char** words) {
  using namespace sharpmax::train;
  if (count != 5) {
    std::cerr << "usage: clrs_tool ALGORITHMS SIZES SEEDS COUNT\n";
    return 2;
  }
  for (const std::string& name : words_of(words[1]))
    for (const std::string& size : words_of(words[2]))
      for (const std::string& seed : words_of(words[3]))
        for (const Traces traces : {Traces::with, Traces::without}) {
          RandomState random(static_cast<std::uint32_t>(std::stoul(seed)));
          for (int i = 0; i < std::atoi(words[4]); ++i) {
            const ClrsExample example = clrs_example(clrs_algorithm(name), random, std::stoll(size), traces);
            std::string joined;
            for (const std::string& token : clrs_tokens(example.question + example.answer)) joined += token;
            if (joined != example.question + example.answer) return 1;
            std::cout << nlohmann::ordered_json{{"algo", name},           {"size", std::stoll(size)},
                                                {"seed", std::stoll(seed)}, {"hints", traces == Traces::with},
                                                {"question", example.question}, {"answer", example.answer}}
                             .dump()
                      << "\n";
          }
        }
  return 0;
}
