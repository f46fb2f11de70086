/* Keys, certificates and tokens of a cluster; the only user of OpenSSL's key functions. */
#include "keys.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dt/base/buf.h"
#include "dt/base/crc.h"
#include "dt/os/file.h"
#include "dt/os/proc.h"

#define PATH_BYTES 512
#define CA_DAYS 3650
#define LEAF_DAYS 397

static void hex_of_random(char *text, size_t bytes)
{
    unsigned char raw[64];

    dt_random(raw, bytes);
    for (size_t i = 0; i < bytes; i++)
        snprintf(text + 2 * i, 3, "%02x", raw[i]);
}

static enum dt_code write_bio(BIO *bio, const char *path, unsigned mode, struct dt_err *err)
{
    char *bytes;
    long size = BIO_get_mem_data(bio, &bytes);

    return dt_file_replace(path, bytes, (size_t)size, mode, err);
}

static enum dt_code write_key(EVP_PKEY *key, const char *path, struct dt_err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    enum dt_code code;

    if (!bio || PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        code = dt_fail(err, DT_INTERNAL, "cannot encode a key");
    else
        code = write_bio(bio, path, 0600, err);
    BIO_free(bio);
    return code;
}

static enum dt_code write_cert(X509 *cert, const char *path, struct dt_err *err)
{
    BIO *bio = BIO_new(BIO_s_mem());
    enum dt_code code;

    if (!bio || PEM_write_bio_X509(bio, cert) != 1)
        code = dt_fail(err, DT_INTERNAL, "cannot encode a certificate");
    else
        code = write_bio(bio, path, 0644, err);
    BIO_free(bio);
    return code;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension;
    bool is_good;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    is_good = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_good;
}

/* A certificate with random serial, valid from an hour ago (clocks differ). */
static X509 *cert_make(EVP_PKEY *key, const char *name, int days, const X509_NAME *issuer)
{
    X509 *cert = X509_new();
    unsigned char serial[16];
    BIGNUM *number;
    X509_NAME *subject;

    if (!cert)
        return NULL;
    dt_random(serial, sizeof(serial));
    serial[0] &= 0x7f;
    number = BN_bin2bn(serial, sizeof(serial), NULL);
    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    X509_set_version(cert, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(cert), -86400); /* clocks that are hours behind must do */
    X509_gmtime_adj(X509_getm_notAfter(cert), (long)days * 86400);
    subject = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_issuer_name(cert, issuer ? issuer : subject);
    X509_set_pubkey(cert, key);
    return cert;
}

static enum dt_code ca_make(const char *cert_path, const char *key_path, struct dt_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key ? cert_make(key, "dt cluster CA", CA_DAYS, NULL) : NULL;
    enum dt_code code = DT_OK;

    if (!cert || !add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !add_extension(cert, cert, NID_subject_key_identifier, "hash") ||
        !X509_sign(cert, key, EVP_sha256()))
        code = dt_fail(err, DT_INTERNAL, "cannot make the cluster's CA");
    if (!code)
        code = write_key(key, key_path, err);
    if (!code)
        code = write_cert(cert, cert_path, err);
    X509_free(cert);
    EVP_PKEY_free(key);
    return code;
}

struct authority {
    EVP_PKEY *key;
    X509 *cert;
};

static enum dt_code authority_open(const char *keys_dir, struct authority *ca,
                                   struct dt_err *err)
{
    char path[PATH_BYTES];
    FILE *file;

    snprintf(path, sizeof(path), "%s/ca.pem", keys_dir);
    file = fopen(path, "re");
    ca->cert = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    if (file)
        fclose(file);
    snprintf(path, sizeof(path), "%s/ca-key.pem", keys_dir);
    file = fopen(path, "re");
    ca->key = file ? PEM_read_PrivateKey(file, NULL, NULL, NULL) : NULL;
    if (file)
        fclose(file);
    if (!ca->cert || !ca->key)
        return dt_fail(err, DT_CORRUPT, "cannot read the cluster's CA below %s", keys_dir);
    return DT_OK;
}

static void authority_release(struct authority *ca)
{
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
}

/* A leaf for both directions of TLS, named by its URI. */
struct leaf {
    const char *name, *alt_names;      /* alt_names as X509v3 configuration text */
    const char *cert_path, *key_path;  /* where it goes */
};

static enum dt_code leaf_make(const char *keys_dir, const struct leaf *leaf, struct dt_err *err)
{
    struct authority ca = {0};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = NULL;
    enum dt_code code = authority_open(keys_dir, &ca, err);

    if (!code) {
        cert = cert_make(key, leaf->name, LEAF_DAYS, X509_get_subject_name(ca.cert));
        if (!cert || !add_extension(cert, ca.cert, NID_basic_constraints, "critical,CA:FALSE") ||
            !add_extension(cert, ca.cert, NID_key_usage, "critical,digitalSignature") ||
            !add_extension(cert, ca.cert, NID_ext_key_usage, "serverAuth,clientAuth") ||
            !add_extension(cert, ca.cert, NID_subject_alt_name, leaf->alt_names) ||
            !add_extension(cert, ca.cert, NID_authority_key_identifier, "keyid:always") ||
            !X509_sign(cert, ca.key, EVP_sha256()))
            code = dt_fail(err, DT_INTERNAL, "cannot make a certificate for %s", leaf->name);
    }
    if (!code)
        code = write_key(key, leaf->key_path, err);
    if (!code)
        code = write_cert(cert, leaf->cert_path, err);
    X509_free(cert);
    EVP_PKEY_free(key);
    authority_release(&ca);
    return code;
}

/* The contents of a small file, made by fill when absent. */
static enum dt_code small_file(const char *path, size_t random_bytes, char *text, size_t size,
                               struct dt_err *err)
{
    struct dt_buf buf = {0};
    enum dt_code code = dt_file_read(path, 256, &buf, err);

    if (code == DT_NOT_FOUND) {
        hex_of_random(text, random_bytes);
        code = dt_file_replace(path, text, strlen(text), 0600, err);
    } else if (!code && buf.size != random_bytes * 2) {
        code = dt_fail(err, DT_CORRUPT, "%s is damaged: %zu bytes", path, buf.size);
    } else if (!code) {
        snprintf(text, size, "%s", dt_buf_str(&buf));
    }
    dt_buf_release(&buf);
    return code;
}

enum dt_code keys_open(const char *state_dir, char cluster_id[33], struct dt_err *err)
{
    char dir[PATH_BYTES], path[PATH_BYTES], key_path[PATH_BYTES], secret[65], uri[200];
    enum dt_code code;

    snprintf(dir, sizeof(dir), "%s/keys", state_dir);
    snprintf(path, sizeof(path), "%s/cluster", dir);
    if ((code = dt_dir_make(dir, 0700, err)) || (code = small_file(path, 16, cluster_id, 33, err)))
        return code;
    snprintf(path, sizeof(path), "%s/gang-secret", dir);
    if ((code = small_file(path, 32, secret, sizeof(secret), err)))
        return code;
    snprintf(path, sizeof(path), "%s/ca.pem", dir);
    snprintf(key_path, sizeof(key_path), "%s/ca-key.pem", dir);
    if (access(path, R_OK) != 0 && (code = ca_make(path, key_path, err)))
        return code;
    snprintf(path, sizeof(path), "%s/server.pem", dir);
    snprintf(key_path, sizeof(key_path), "%s/server-key.pem", dir);
    snprintf(uri, sizeof(uri), "URI:dt://%s/controller,DNS:localhost,IP:127.0.0.1,IP:::1",
             cluster_id);
    if (access(path, R_OK) != 0)
        code = leaf_make(dir, &(struct leaf){"dt controller", uri, path, key_path}, err);
    return code;
}

enum dt_code keys_issue_node(const char *state_dir, const char *cluster_id, const char *node,
                             const char *directory, struct dt_err *err)
{
    char keys_dir[PATH_BYTES], path[PATH_BYTES], key_path[PATH_BYTES], uri[200];
    struct dt_buf ca = {0};
    enum dt_code code;

    snprintf(keys_dir, sizeof(keys_dir), "%s/keys", state_dir);
    snprintf(path, sizeof(path), "%s/cert.pem", directory);
    snprintf(key_path, sizeof(key_path), "%s/key.pem", directory);
    snprintf(uri, sizeof(uri), "URI:dt://%s/node/%s", cluster_id, node);
    if ((code = dt_dir_make(directory, 0700, err)))
        return code;
    if ((access(path, R_OK) != 0 || access(key_path, R_OK) != 0) &&
        (code = leaf_make(keys_dir, &(struct leaf){node, uri, path, key_path}, err)))
        return code;
    snprintf(path, sizeof(path), "%s/ca.pem", keys_dir);
    code = dt_file_read(path, 65536, &ca, err);
    snprintf(path, sizeof(path), "%s/ca.pem", directory);
    if (!code)
        code = dt_file_replace(path, ca.data, ca.size, 0644, err);
    dt_buf_release(&ca);
    snprintf(path, sizeof(path), "%s/cluster", directory);
    return code ? code : dt_file_replace(path, cluster_id, strlen(cluster_id), 0644, err);
}

enum dt_code keys_make_token(const char *path, char hash[65], struct dt_err *err)
{
    char id[17], secret[65], token[128];

    hex_of_random(id, 8);
    hex_of_random(secret, 32);
    snprintf(token, sizeof(token), "dtu1_%s_%s", id, secret);
    dt_sha256_hex(token, strlen(token), hash);
    return dt_file_replace(path, token, strlen(token), 0600, err);
}

void keys_gang_secret(const char *state_dir, uint64_t job, uint64_t gen, char text[33])
{
    char path[PATH_BYTES], word[160], hex[DT_SHA256_HEX_BYTES];
    struct dt_buf secret = {0};

    snprintf(path, sizeof(path), "%s/keys/gang-secret", state_dir);
    if (dt_file_read(path, 256, &secret, NULL))
        hex_of_random(hex, 16); /* the key is lost: a generation still gets something unknown */
    snprintf(word, sizeof(word), "%.64s/%llu/%llu", dt_buf_str(&secret), (unsigned long long)job,
             (unsigned long long)gen);
    dt_sha256_hex(word, strlen(word), hex);
    snprintf(text, 33, "%.32s", hex);
    dt_buf_release(&secret);
}
