// Checksums of files, against the standard's own examples and against those of the parts.
#include <gtest/gtest.h>

#include "model/file/model_file.h"
#include "storage/files.h"
#include "support/files.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

std::string sha256_of_text(const std::string& text) { return sha256_of(std::as_bytes(std::span(text))); }

// FIPS 180-4's examples, as NIST publishes them, and the digest of nothing.
TEST(Sha256, IsTheStandardsOwn) {
  EXPECT_EQ(sha256_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of_text(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TellsHowFarItIsAndEndsWhereThatThrows) {
  const std::vector<std::byte> bytes((std::size_t{16} << 20) + 5);  // more than one piece
  std::vector<std::size_t> heard;
  sha256_of(bytes, [&](std::size_t done) { heard.push_back(done); });
  EXPECT_EQ(heard, (std::vector<std::size_t>{std::size_t{16} << 20, bytes.size()}));
  EXPECT_THROW(sha256_of(bytes, [](std::size_t) { throw std::runtime_error("enough"); }), std::runtime_error);
}

TEST(ModelChecksum, OfAGgufFileIsThatOfItsBytes) {
  const Folder folder{"checksum"};
  TinyModel{}.write(folder / "m.gguf");
  const model::ModelFile file = model::open_model_file(folder / "m.gguf");
  std::uint64_t heard = 0;
  const std::string checksum = model::checksum_of(file, [&](std::uint64_t done, std::uint64_t whole) {
    EXPECT_EQ(whole, contents(folder / "m.gguf").size());
    heard = done;
  });
  EXPECT_EQ(checksum, sha256_of_text(contents(folder / "m.gguf")));
  EXPECT_EQ(heard, contents(folder / "m.gguf").size());
}

}  // namespace
}  // namespace sharpmax::test
