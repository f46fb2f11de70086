/* Certificates of this program: TLS 1.3 only, no tickets, no renegotiation. */
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "dt/net/conn.h"

struct dt_tls {
    SSL_CTX *context;
};

static enum dt_code fail_ssl(struct dt_err *err, const char *doing, const char *path)
{
    char text[200] = "unknown";
    unsigned long code = ERR_peek_last_error();

    if (code)
        ERR_error_string_n(code, text, sizeof(text));
    ERR_clear_error();
    return dt_fail(err, DT_IO, "cannot %s %s: %s", doing, path, text);
}

static SSL_CTX *context_make(bool is_server)
{
    SSL_CTX *context = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());

    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (is_server)
        SSL_CTX_set_num_tickets(context, 0);
    /* peers send little; small buffers keep thousands of agents cheap */
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    return context;
}

static enum dt_code load_pair(SSL_CTX *context, const char *cert_path, const char *key_path,
                              struct dt_err *err)
{
    if (SSL_CTX_use_certificate_chain_file(context, cert_path) != 1)
        return fail_ssl(err, "load the certificate", cert_path);
    if (SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM) != 1)
        return fail_ssl(err, "load the key", key_path);
    if (SSL_CTX_check_private_key(context) != 1)
        return fail_ssl(err, "use, with its certificate, the key", key_path);
    return DT_OK;
}

enum dt_code dt_tls_load(struct dt_tls **tls, bool is_server, const struct dt_tls_files *files,
                         struct dt_err *err)
{
    SSL_CTX *context = context_make(is_server);
    enum dt_code code;

    if (!context)
        return fail_ssl(err, "set up TLS for", files->cert);
    code = load_pair(context, files->cert, files->key, err);
    if (!code && SSL_CTX_load_verify_locations(context, files->ca, NULL) != 1)
        code = fail_ssl(err, "load the CA", files->ca);
    if (code) {
        SSL_CTX_free(context);
        return code;
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    *tls = dt_alloc(1, sizeof(**tls));
    (*tls)->context = context;
    return DT_OK;
}

enum dt_code dt_tls_load_api(struct dt_tls **tls, const char *cert_path, const char *key_path,
                             struct dt_err *err)
{
    SSL_CTX *context = context_make(true);
    enum dt_code code;

    if (!context)
        return fail_ssl(err, "set up TLS for", cert_path);
    if ((code = load_pair(context, cert_path, key_path, err))) {
        SSL_CTX_free(context);
        return code;
    }
    *tls = dt_alloc(1, sizeof(**tls));
    (*tls)->context = context;
    return DT_OK;
}

void dt_tls_free(struct dt_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    dt_free(tls);
}

void *dt_tls_context(struct dt_tls *tls)
{
    return tls->context;
}
