// The API's reference, drawn by Swagger UI from openapi.json beside this page.
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null, // no request to another host
});
