/* { "does": "http.file has a default type and keeps its data", "console": ["application/octet-stream abc true"] } */
import http from 'k6/http';
export default function () {
  const file = http.file('abc');
  console.log(file.content_type, file.data, file.filename.length > 0);
}
