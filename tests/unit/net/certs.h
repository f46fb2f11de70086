/* Certificates for the tests of TLS: made on the spot, good ones and wrong ones. */
#ifndef DT_TESTS_NET_CERTS_H
#define DT_TESTS_NET_CERTS_H

/* What a certificate says. {0} besides name: a good leaf for both directions. */
struct cert_like {
    const char *name;        /* of the files: DIR/name.pem and DIR/name-key.pem */
    const char *uris;        /* "URI:..." as X509v3 configuration, or NULL */
    const char *purpose;     /* extended key usage; NULL = serverAuth,clientAuth */
    const char *ca;          /* name of the CA that signs; NULL = "ca" */
    long from_s, to_s;       /* from now; 0, 0 = an hour ago to an hour hence */
};

/* A CA with files name.pem and name-key.pem in dir. */
void certs_ca(const char *dir, const char *name);
/* A leaf signed by its CA. */
void certs_leaf(const char *dir, const struct cert_like *like);

#endif
