// The documentation of the API: Swagger UI of the document that the page names.
"use strict";

const place = document.getElementById("documents");
SwaggerUIBundle({
    url: place.dataset.document,
    domNode: place,
    deepLinking: true,
    docExpansion: "list",
    filter: true,
    displayRequestDuration: true,
    validatorUrl: null,
    // Only the document needs the session of the admin. Operations need an API user, entered under "Authorize". Without
    // cookies and credentials, the browser does not ask for a password by itself.
    requestInterceptor: (request) => (request.loadSpec ? request : Object.assign(request, {credentials: "omit"})),
});
