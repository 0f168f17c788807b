#include "storage/gzip.h"

#include <zlib.h>

#include "sharpmax/error.h"

namespace sharpmax {

std::vector<std::uint8_t> gzip_of(std::string_view text) {
  constexpr int kGzip = 16, kLargestWindow = 15, kMemory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kLargestWindow + kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error(ErrorCode::io, "gzip: no memory is left");
  std::vector<std::uint8_t> packed(deflateBound(&stream, static_cast<uLong>(text.size())));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib only reads it
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  const int ended = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw Error(ErrorCode::io, "gzip: the text could not be compressed");
  return packed;
}

}  // namespace sharpmax
