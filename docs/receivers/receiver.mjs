// A receiver of webhooks that accepts only signed requests. Node 18 or later, nothing to install.
//
//   WEBHOOK_SECRETS=whsec_… PORT=9000 node receiver.mjs
//
// During a rotation WEBHOOK_SECRETS may hold both secrets, separated by a space.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const SECRETS = process.env.WEBHOOK_SECRETS.split(" ");
const TOLERANCE_SECONDS = 5 * 60;
const LARGEST_BODY = 1_000_000;

// Return whether one of our secrets signed exactly these bytes in the last minutes.
function isGenuine(headers, body, now = Date.now() / 1000) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) {
    return false;
  }
  const given = (headers["webhook-signature"] ?? "").split(" ").map((text) => Buffer.from(text));
  return SECRETS.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
    const right = Buffer.from(`v1,${digest}`);
    // timingSafeEqual takes as long for a wrong signature as for a right one.
    return given.some((signature) => signature.length === right.length && timingSafeEqual(signature, right));
  });
}

// Put the event where your own work begins. Keep it short: the answer must come within 15 seconds.
function handle(event) {
  console.log(event.sequence, event.action, event.event_id);
}

// In memory for this example. Keep the ids in your database, in the transaction of the work: attempts of one
// event go on for days, and a person can have it sent again later.
const seen = new Set();

createServer((request, response) => {
  const answer = (status) => response.writeHead(status, { "Content-Length": 0 }).end();
  const chunks = [];
  let size = 0;
  request.on("data", (chunk) => {
    size += chunk.length;
    if (size > LARGEST_BODY) {
      request.destroy();
    } else {
      chunks.push(chunk);
    }
  });
  request.on("end", () => {
    // The signature covers the original bytes: a parsed and rewritten body has another one.
    const body = Buffer.concat(chunks);
    if (request.method !== "POST" || !isGenuine(request.headers, body)) {
      return answer(401);
    }
    const id = request.headers["webhook-id"];
    if (!seen.has(id)) {
      const isJson = (request.headers["content-type"] ?? "").startsWith("application/json");
      handle(isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body.toString())));
      seen.add(id);
    }
    // A repeated event gets the same answer, or it would be sent again.
    return answer(204);
  });
}).listen(Number(process.env.PORT ?? 9000), "127.0.0.1");
