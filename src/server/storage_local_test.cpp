// Blobs in a directory: there whole or not at all, and never outside of it.
#include "server/storage_drivers.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

namespace dw::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class BlobsInADirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "dw_blobs_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    scratch = pattern;
    directory = scratch / "some where" / "payloads";
    blobs = local_blobs(directory);
  }
  void TearDown() override { fs::remove_all(scratch); }

  // Every file there is, by its path below `where`.
  static std::vector<std::string> files_in(const fs::path& where) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator{where}) {
      if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), where).string());
    }
    return files;
  }
  void overwrite(std::string_view bytes) const {
    std::ofstream{directory / key, std::ios::binary | std::ios::trunc} << bytes;
  }

  fs::path scratch, directory;
  std::unique_ptr<BlobStore> blobs;
  const std::string key = blob_key("abc");
};

TEST(BlobKey, IsTheDigestOfTheBytes) {
  EXPECT_EQ(blob_key("abc"),
            "avro/ba/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(is_blob_key(blob_key("abc")));
}

TEST_F(BlobsInADirectory, AreWrittenReadAndRemoved) {
  EXPECT_EQ(blobs->put("abc").value(), key);
  EXPECT_THAT(files_in(directory), ElementsAre(key)) << "no drafts are left behind";
  EXPECT_EQ(blobs->get(key).value(), "abc");
  EXPECT_TRUE(blobs->remove(key));
  EXPECT_THAT(files_in(directory), IsEmpty());
  EXPECT_TRUE(blobs->remove(key)) << "what is gone is gone";
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::not_found);
}

TEST_F(BlobsInADirectory, AreThereForWhoeverOpensTheDirectoryNext) {
  const std::string bytes(5'000'000, '\0');
  const auto put = blobs->put(bytes).value();
  EXPECT_EQ(local_blobs(directory)->get(put).value(), bytes);
  EXPECT_EQ(local_blobs(directory)->get(blobs->put("").value()).value(), "");
}

TEST_F(BlobsInADirectory, AreNamedAsSdksNameThem) {
  EXPECT_EQ(local_blobs("/srv/pay loads")->uri_of(key), "file:///srv/pay%20loads/" + key);
}

TEST_F(BlobsInADirectory, NothingIsMadeByLooking) {
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::not_found);
  EXPECT_TRUE(blobs->remove(key));
  EXPECT_FALSE(fs::exists(directory));
}

TEST_F(BlobsInADirectory, ATornOneIsNoticedAndMended) {
  ASSERT_TRUE(blobs->put("abc"));
  for (const auto* torn : {"ab", "", "abd", "abcd"}) {
    overwrite(torn);
    const auto error = blobs->get(key).error();
    EXPECT_EQ(error.code, ErrorCode::store_corrupt) << torn;
    EXPECT_THAT(error.message, HasSubstr(key));
    ASSERT_TRUE(blobs->put("abc"));
    EXPECT_EQ(blobs->get(key).value(), "abc");
  }
}

TEST_F(BlobsInADirectory, ADraftThatACrashLeftIsInNobodysWay) {
  ASSERT_TRUE(blobs->put("abc"));
  std::ofstream{(directory / key).parent_path() / ".draft"} << "half of";
  ASSERT_TRUE(blobs->put("abc"));
  EXPECT_EQ(blobs->get(key).value(), "abc");
}

TEST_F(BlobsInADirectory, KeysThatAreNoneAreRefused) {
  std::ofstream{scratch / "secret"} << "secret";
  const auto digest = key.substr(key.size() - 64);
  const std::string bad[] = {"",
                             "secret",
                             "../../secret",
                             "/etc/passwd",
                             "avro/../../../secret",
                             digest,
                             "avro/" + digest,
                             "json/ba/" + digest,
                             "avro/bb/" + digest,
                             "avro/ba/" + digest + "/",
                             "avro//ba/" + digest,
                             "/avro/ba/" + digest,
                             "./avro/ba/" + digest,
                             "avro/ba/BA" + digest.substr(2),
                             "avro/ba/" + digest.substr(0, 63),
                             "avro/ba/" + digest + std::string(1, '\0'),
                             "avro/../" + std::string(64, '.')};
  for (const auto& wrong : bad) {
    EXPECT_FALSE(is_blob_key(wrong)) << wrong;
    EXPECT_EQ(blobs->get(wrong).error().code, ErrorCode::invalid_argument) << wrong;
    EXPECT_EQ(blobs->remove(wrong).error().code, ErrorCode::invalid_argument) << wrong;
  }
  EXPECT_TRUE(fs::exists(scratch / "secret"));
}

TEST_F(BlobsInADirectory, LinksDoNotLeadOutOfIt) {
  fs::create_directories(scratch / "outside");
  fs::create_directories(directory);
  fs::create_directory_symlink(scratch / "outside", directory / "avro");
  const auto error = blobs->put("abc").error();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr("is not followed"));
  EXPECT_THAT(files_in(scratch / "outside"), IsEmpty());
}

TEST_F(BlobsInADirectory, ALinkInPlaceOfABlobIsNotFollowedEither) {
  ASSERT_TRUE(blobs->put("abc"));
  std::ofstream{scratch / "outside"} << "abc";
  fs::remove(directory / key);
  fs::create_symlink(scratch / "outside", directory / key);
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::unavailable);
  ASSERT_TRUE(blobs->put("abc")) << "it takes the place of the link";
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(directory / key)));
  EXPECT_EQ(blobs->get(key).value(), "abc");
}

TEST_F(BlobsInADirectory, TheDirectoryItselfMayBeALink) {
  fs::create_directories(scratch / "disk");
  fs::create_directory_symlink(scratch / "disk", scratch / "link");
  EXPECT_EQ(local_blobs(scratch / "link")->put("abc").value(), key);
  EXPECT_THAT(files_in(scratch / "disk"), ElementsAre(key));
}

TEST_F(BlobsInADirectory, APipeInPlaceOfABlobHoldsNobodyUp) {
  ASSERT_TRUE(blobs->put("abc"));
  fs::remove(directory / key);
  ASSERT_EQ(::mkfifo((directory / key).c_str(), 0600), 0);
  EXPECT_EQ(blobs->get(key).error().code, ErrorCode::store_corrupt);
}

TEST_F(BlobsInADirectory, AFileInPlaceOfTheDirectoryIsSaidToBeInTheWay) {
  std::ofstream{scratch / "file"} << "";
  const auto error = local_blobs(scratch / "file")->put("abc").error();
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, HasSubstr((scratch / "file").string()));
}

}  // namespace
}  // namespace dw::server
