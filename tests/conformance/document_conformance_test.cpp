// What every backend keeps of what the server was told to remember.
#include "store_conformance.hpp"

namespace dw::conformance {
namespace {

using namespace store;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DocumentConformance : public OnEachBackend {
 protected:
  void put(const Document& document) {
    const auto put = store().put_document(document);
    ASSERT_TRUE(put) << put.error().message;
  }
  std::vector<Document> all(std::string_view kind) { return store().documents(kind).value(); }
};

INSTANTIATE_TEST_SUITE_P(Stores, DocumentConformance, ::testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

Document registration(std::string ns, std::string id, std::string body) {
  return {"worker_registration", Namespace{std::move(ns)}, std::move(id), std::move(body)};
}

TEST_P(DocumentConformance, ADocumentReadsBackAsItWasWritten) {
  EXPECT_THAT(all("worker_registration"), IsEmpty());
  const auto said = registration("shop", "w1", R"({"queue":"say \"orders\""})");
  put(said);
  EXPECT_THAT(all("worker_registration"), ElementsAre(said));
  if (!GetParam().persists) return;
  reopen();
  EXPECT_THAT(all("worker_registration"), ElementsAre(said));
}

TEST_P(DocumentConformance, WhatIsSaidAgainReplacesWhatWasSaid) {
  put(registration("shop", "w1", "1"));
  put(registration("shop", "w1", "2"));
  EXPECT_THAT(all("worker_registration"), ElementsAre(registration("shop", "w1", "2")));
}

TEST_P(DocumentConformance, WithoutABodyItIsGone) {
  put(registration("shop", "w1", "1"));
  put(registration("shop", "w2", "2"));
  put(registration("shop", "w1", ""));
  put(registration("shop", "never", ""));
  EXPECT_THAT(all("worker_registration"), ElementsAre(registration("shop", "w2", "2")));
}

TEST_P(DocumentConformance, KindsAndNamespacesDoNotMixAndIdsAreInOrder) {
  put({"namespace", Namespace{"shop"}, "w1", "{}"});
  put(registration("shop", "w2", "2"));
  put(registration("shop", "w1", "1"));
  put(registration("bank", "w1", "3"));
  EXPECT_THAT(all("worker_registration"),
              ElementsAre(registration("bank", "w1", "3"), registration("shop", "w1", "1"),
                          registration("shop", "w2", "2")));
}

}  // namespace
}  // namespace dw::conformance
