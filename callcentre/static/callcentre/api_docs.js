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
    // Only the document is for the session of the admin. Operations want an API user, entered under "Authorize"; without
    // cookies and credentials the browser does not ask for one by itself.
    requestInterceptor: (request) => (request.loadSpec ? request : Object.assign(request, {credentials: "omit"})),
});
