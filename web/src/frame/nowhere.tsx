import { Link } from "@tanstack/react-router";
import { Empty } from "../parts/empty";

export function Nowhere() {
  return (
    <Empty>
      There is no such page. <Link to="/">Now</Link> shows what the fleet does.
    </Empty>
  );
}
