/* Certificates for the tests of TLS: made on the spot, good ones and wrong ones. */
#include "certs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

#include "test.h"

static void save(const char *dir, const char *name, EVP_PKEY *key, X509 *cert)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s.pem", dir, name);
    file = fopen(path, "we");
    if (CHECK(file && PEM_write_X509(file, cert) == 1))
        fclose(file);
    snprintf(path, sizeof(path), "%s/%s-key.pem", dir, name);
    file = fopen(path, "we");
    if (CHECK(file && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1))
        fclose(file);
}

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509_EXTENSION *extension;
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    CHECK(extension && X509_add_ext(cert, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *cert_make(EVP_PKEY *key, const struct cert_like *like)
{
    static long serial;
    X509 *cert = X509_new();

    X509_set_version(cert, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), like->from_s || like->to_s ? like->from_s : -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), like->from_s || like->to_s ? like->to_s : 3600);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                               (const unsigned char *)like->name, -1, -1, 0);
    X509_set_pubkey(cert, key);
    return cert;
}

void certs_ca(const char *dir, const char *name)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = cert_make(key, &(struct cert_like){.name = name});

    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    CHECK(X509_sign(cert, key, EVP_sha256()) > 0);
    save(dir, name, key, cert);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void certs_leaf(const char *dir, const struct cert_like *like)
{
    EVP_PKEY *key = EVP_EC_gen("P-256"), *ca_key = NULL;
    X509 *cert = cert_make(key, like), *ca = NULL;
    char path[200];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s.pem", dir, like->ca ? like->ca : "ca");
    if (CHECK((file = fopen(path, "re")) != NULL)) {
        ca = PEM_read_X509(file, NULL, NULL, NULL);
        fclose(file);
    }
    snprintf(path, sizeof(path), "%s/%s-key.pem", dir, like->ca ? like->ca : "ca");
    if (CHECK((file = fopen(path, "re")) != NULL)) {
        ca_key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
        fclose(file);
    }
    X509_set_issuer_name(cert, X509_get_subject_name(ca));
    extend(cert, ca, NID_basic_constraints, "critical,CA:FALSE");
    extend(cert, ca, NID_key_usage, "critical,digitalSignature");
    extend(cert, ca, NID_ext_key_usage, like->purpose ? like->purpose : "serverAuth,clientAuth");
    if (like->uris)
        extend(cert, ca, NID_subject_alt_name, like->uris);
    CHECK(X509_sign(cert, ca_key, EVP_sha256()) > 0);
    save(dir, like->name, key, cert);
    X509_free(cert);
    X509_free(ca);
    EVP_PKEY_free(key);
    EVP_PKEY_free(ca_key);
}
