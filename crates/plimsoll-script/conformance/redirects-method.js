/* { "does": "302 turns a POST into a GET without body, 307 keeps both", "requests": ["POST /redirect-to/302/x", "GET /x", "POST /redirect-to/307/x", "POST /x"], "console": ["GET null undefined", "POST a=1 application/x-www-form-urlencoded"] } */
import http from 'k6/http';
export default function () {
  for (const status of [302, 307]) {
    const seen = http.post(`http://h.test/redirect-to/${status}/x`, { a: 1 }).json();
    console.log(seen.method, seen.body, seen.headers['content-type']);
  }
}
