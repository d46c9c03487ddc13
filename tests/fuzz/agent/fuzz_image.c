/* Names and documents of images, from anybody: refused, or within every bound. */
#include <stdint.h>
#include <string.h>

#include "agent/image/manifest.h"
#include "agent/image/ref.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct image_doc doc;
    struct image_config config;
    struct image_ref ref;
    struct image_part part;
    char name[600];
    struct str text = str_n((const char *)data, n);
    if (image_doc_parse(text, &doc, NULL) == 0) {
        CHECK(doc.layers.n <= IMAGE_LAYERS_MAX);
        if (image_doc_is_index(&doc) && image_doc_choose(&doc, "amd64", "", &part, NULL) == 0)
            CHECK(digest_is(str_of(part.digest)));
        image_doc_done(&doc);
    }
    if (image_config_parse(text, &config, NULL) == 0) image_config_done(&config);
    TEXT_CLIP(name, text);
    if (image_ref_parse(name, &ref, NULL) == 0) CHECK(ref.kind != IMAGE_NONE);
    return 0;
}
